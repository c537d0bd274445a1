#!/bin/sh
# In place of linerate: prints the events of a test, and waits to be interrupted where it is told to.
printf '%s\n' '{"event":"began","kind":"udp","title":"UDP to board","hosts":[{"role":"client","name":"here"}]}'
printf '%s\n' '{"event":"interval","direction":"forward","start_s":0.0,"end_s":1.0,"received_bps":94000000}'
case "$*" in
*--time=9s*) trap 'echo stopped >&2; exit 1' INT; while :; do sleep 0.05; done ;;
esac
echo "arguments: $*" >&2
