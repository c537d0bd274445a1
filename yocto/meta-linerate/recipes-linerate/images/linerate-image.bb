SUMMARY = "A board that measures its network and can be traced"
DESCRIPTION = "The agent of linerate, started at boot, with the programs of both packagegroups."
LICENSE = "MIT"

inherit core-image

IMAGE_FEATURES += "ssh-server-dropbear"

IMAGE_INSTALL += "\
    kernel-modules \
    packagegroup-linerate-measure \
    packagegroup-linerate-tracing \
"

# Results are kept on the card.
IMAGE_ROOTFS_EXTRA_SPACE = "262144"
