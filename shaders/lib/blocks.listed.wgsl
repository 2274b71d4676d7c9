// Queries see the blocks of keys that a list marks. Queries and keys are those of this strip.
const BLOCK = 64u; // queries, and keys

// [item and head][block of queries][word]: a bit for each block of keys
@group(0) @binding(8) var<storage, read> seen_blocks: array<u32>;

// Whether a tile and a group of keys, which begin at these, see anything of each other; the same for all lanes.
fn sees_group(item: u32, head: u32, query: u32, key: u32) -> bool {
  let last_query = (args.first_query + min(query + QUERIES, args.queries) - 1u) / BLOCK;
  let last_key = (args.first_key + min(key + GROUP, args.keys) - 1u) / BLOCK;
  for (var i = (args.first_query + query) / BLOCK; i <= last_query; i++) {
    for (var j = (args.first_key + key) / BLOCK; j <= last_key; j++) {
      if (sees_block(item, head, i, j)) {
        return true;
      }
    }
  }
  return false;
}

// Whether tiles or groups of keys hold parts of blocks.
fn divides_blocks() -> bool {
  return BLOCK % QUERIES != 0u || BLOCK % GROUP != 0u || args.first_query % QUERIES != 0u || args.first_key % GROUP != 0u;
}

fn sees_key(item: u32, head: u32, query: u32, key: u32) -> bool {
  return sees_block(item, head, (args.first_query + query) / BLOCK, (args.first_key + key) / BLOCK);
}

fn sees_block(item: u32, head: u32, queries: u32, keys: u32) -> bool {
  let plane = ((args.first_item + item) * args.heads + head) * args.block_planes;
  let word = seen_blocks[(plane + queries) * args.block_words + keys / 32u];
  return ((word >> (keys % 32u)) & 1u) != 0u;
}
