# The kernel of qemuriscv64.
require recipes-kernel/linux/linerate-kernel.inc
