# Pods as `linerate mesh --inventory-command` takes hosts, from what `kubectl get pods -o json` prints. Pods of one node share
# its interface.
{_meta: {hostvars: ([
    .items[] | select(.status.podIP and .metadata.deletionTimestamp == null) | {
        key: .metadata.name,
        value: {linerate_address: .status.podIP, linerate_rack: .spec.nodeName, linerate_nic: .spec.nodeName}
    }
] | from_entries)}}
