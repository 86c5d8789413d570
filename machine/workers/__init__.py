"""Where work is done that one process would be long at: processes of this machine, or a cluster's workers."""
