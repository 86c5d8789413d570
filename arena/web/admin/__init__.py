"""The admin pages, `/admin`: access control, the pages, and the requests that their forms send to the server."""
