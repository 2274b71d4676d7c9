// Each item has its own number of keys; keys beyond are masked.
@group(0) @binding(5) var<storage, read> key_counts: array<u32>;

fn keys_of(item: u32) -> u32 {
  return key_counts[item];
}
