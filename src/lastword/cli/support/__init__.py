"""What commands share: options, output, progress, opening tables."""
