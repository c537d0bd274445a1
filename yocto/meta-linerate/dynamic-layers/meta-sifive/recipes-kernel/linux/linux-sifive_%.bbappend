# The kernel of freedom-u540.
require recipes-kernel/linux/linerate-kernel.inc
