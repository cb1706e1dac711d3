"""What the black-box tests are made of: a server process, HTTP and raw sockets, gRPC from the .proto files."""
