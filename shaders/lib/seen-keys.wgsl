// Keys that queries of dense attention see.
#import "lib/keys.$KEYS.wgsl"

// Number of the strip's keys that an item has, and of keys that a query of the strip sees.
fn count_of(item: u32) -> u32 {
  return min(max(keys_of(args.first_item + item), args.first_key) - args.first_key, args.keys);
}

fn seen_of(count: u32, query: u32) -> u32 {
  let before = max(args.first_query + query + 1u, args.first_key) - args.first_key;
  return select(count, min(count, before), args.causal != 0u);
}
