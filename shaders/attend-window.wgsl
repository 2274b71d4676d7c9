// Which blocks of keys a block of queries sees: those with a token within a window around one of its own, on the grid of a clip's tokens. Tokens
// before and behind the grid see all, and all see them. An invocation per word and block of queries.
const WORKGROUP = 64u;
const BLOCK = 64u; // as in lib/blocks.listed.wgsl

struct Args {
  first: u32,      // tokens before the grid
  frames: u32,
  rows: u32,
  columns: u32,
  far_frames: u32, // the farthest that is seen
  far_rows: u32,
  far_columns: u32,
  blocks: u32,
  words: u32,      // from one block of queries to the next
}

@group(0) @binding(0) var<uniform> args: Args;
@group(0) @binding(1) var<storage, read_write> y: array<u32>; // [block of queries][word]: a bit for each block of keys

// The box around the tokens of a block; whether it holds a token outside the grid.
struct Box {
  least: vec3u, // frame, row, column
  most: vec3u,
  is_beside: bool,
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.words) {
    return;
  }
  let own = box_of(id.y);
  var bits = 0u;
  for (var i = 0u; i < min(32u, args.blocks - min(args.blocks, 32u * id.x)); i++) {
    let other = box_of(32u * id.x + i);
    let far = max(own.least, other.least);
    let apart = far - min(far, min(own.most, other.most)); // 0 where they overlap
    if (own.is_beside || other.is_beside || all(apart <= vec3u(args.far_frames, args.far_rows, args.far_columns))) {
      bits |= 1u << i;
    }
  }
  y[id.y * args.words + id.x] = bits;
}

fn box_of(block: u32) -> Box {
  let begins = block * BLOCK;
  let ends = begins + BLOCK - 1u;
  let count = args.frames * args.rows * args.columns;
  if (begins < args.first || ends >= args.first + count) {
    return Box(vec3u(0u), vec3u(0u), true);
  }
  let least = place_of(begins - args.first);
  let most = place_of(ends - args.first);
  let is_frame = least.x == most.x;
  let is_row = is_frame && least.y == most.y;
  return Box(
    vec3u(least.x, select(0u, least.y, is_frame), select(0u, least.z, is_row)),
    vec3u(most.x, select(args.rows - 1u, most.y, is_frame), select(args.columns - 1u, most.z, is_row)),
    false,
  );
}

fn place_of(token: u32) -> vec3u {
  return vec3u(token / (args.rows * args.columns), token / args.columns % args.rows, token % args.columns);
}
