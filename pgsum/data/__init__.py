"""From records on disk to padded batches."""
