// A page's keys and values of one head, of pages in f16, into the workgroup memory of lib/softmax-tile.wgsl.
#import "kv/read.f16.wgsl"

const QUADS = DIMS / 4u;
const FOURS = 8u * QUADS; // of a page: four tokens by four dimensions
const HELD = (FOURS + LANES - 1u) / LANES;

alias Lines = array<vec4u, 2u * HELD>;

// Four tokens by four dimensions of keys: tokens 4 · four and on, dimensions 4 · quad and on. Two dimensions of each token in each half.
fn load_keys(head: u32, local: u32) -> Lines {
  var lines: Lines;
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    let at = (head * args.dims + min(i / 8u * 4u, args.dims - 4u)) * 4u + i % 8u;
    lines[2u * n] = keys[at];
    lines[2u * n + 1u] = keys[at + 8u];
  }
  return lines;
}

fn share_keys(lines: Lines, local: u32) {
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    let quad = i / 8u;
    if (FOURS % LANES == 0u || i < FOURS) {
      let near = select(vec4u(0u), lines[2u * n], quad * 4u < args.dims);
      let far = select(vec4u(0u), lines[2u * n + 1u], quad * 4u < args.dims);
      let at = (quad / 8u * BLOCK_KEYS + i % 8u * 4u) * STRIDE + quad % 8u;
      ws[at] = half_of(vec2u(near.x, far.x));
      ws[at + STRIDE] = half_of(vec2u(near.y, far.y));
      ws[at + 2u * STRIDE] = half_of(vec2u(near.z, far.z));
      ws[at + 3u * STRIDE] = half_of(vec2u(near.w, far.w));
    }
  }
}

// Four tokens by four dimensions of values. A line holds two tokens, and a word two dimensions of one of them.
fn load_values(head: u32, local: u32) -> Lines {
  var lines: Lines;
  let quads = args.dims / 4u;
  for (var n = 0u; n < turns(HELD); n++) {
    let i = min(n * LANES + local, FOURS - 1u);
    let at = (head * 16u + i / QUADS * 2u) * quads + min(i % QUADS, quads - 1u);
    lines[2u * n] = values[at];
    lines[2u * n + 1u] = values[at + quads];
  }
  return lines;
}

fn share_values(lines: Lines, local: u32) {
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    if (FOURS % LANES == 0u || i < FOURS) {
      let near = lines[2u * n];
      let far = lines[2u * n + 1u];
      let at = i % QUADS * 4u * STRIDE + i / QUADS;
      ws[at] = half_of(vec2u(low_halves(near.x, near.z), low_halves(far.x, far.z)));
      ws[at + STRIDE] = half_of(vec2u(high_halves(near.x, near.z), high_halves(far.x, far.z)));
      ws[at + 2u * STRIDE] = half_of(vec2u(low_halves(near.y, near.w), low_halves(far.y, far.w)));
      ws[at + 3u * STRIDE] = half_of(vec2u(high_halves(near.y, near.w), high_halves(far.y, far.w)));
    }
  }
}

fn low_halves(a: u32, b: u32) -> u32 {
  return (a & 0xffffu) | (b << 16u);
}

fn high_halves(a: u32, b: u32) -> u32 {
  return (a >> 16u) | (b & 0xffff0000u);
}
