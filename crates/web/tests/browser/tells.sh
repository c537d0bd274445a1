#!/bin/sh
# In place of linerate: says what it is told, until it is interrupted or nobody tells it more.
exec cat "${0%/*}/events"
