"""Rules made and judged by machine: sampled verification. Knows no operator and no rule."""
