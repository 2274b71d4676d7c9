// A page's keys and values of one head, of pages in codes, into the workgroup memory of lib/softmax-tile.wgsl, times their factors, as f16.
#import "lib/read-codes.wgsl"
#import "kv/digits.$CODES.wgsl"

const QUADS = DIMS / 4u;
const FOURS = 8u * QUADS; // of a page: four tokens by four dimensions
const HELD = (FOURS + LANES - 1u) / LANES;

struct Lines {
  words: array<vec4u, HELD>,
  scales: array<vec4f, HELD>,
}

// Four tokens by four dimensions of keys: tokens 4 · four and on, dimensions 4 · quad and on.
fn load_keys(head: u32, local: u32) -> Lines {
  var lines: Lines;
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    lines.words[n] = key_words(head, min(i / 8u, args.dims / 4u - 1u), args.dims, i % 8u);
    lines.scales[n] = key_scales(head, i % 8u, args.dims);
  }
  return lines;
}

fn share_keys(lines: Lines, local: u32) {
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    let quad = i / 8u;
    if (FOURS % LANES == 0u || i < FOURS) {
      let columns = columns_of(lines.words[n], min(quad, args.dims / 4u - 1u));
      let scales = select(vec4f(0.0), lines.scales[n], quad * 4u < args.dims);
      let at = (quad / 8u * BLOCK_KEYS + i % 8u * 4u) * STRIDE + quad % 8u;
      ws[at] = bounded(vec4f(columns[0].x, columns[1].x, columns[2].x, columns[3].x) * scales.x);
      ws[at + STRIDE] = bounded(vec4f(columns[0].y, columns[1].y, columns[2].y, columns[3].y) * scales.y);
      ws[at + 2u * STRIDE] = bounded(vec4f(columns[0].z, columns[1].z, columns[2].z, columns[3].z) * scales.z);
      ws[at + 3u * STRIDE] = bounded(vec4f(columns[0].w, columns[1].w, columns[2].w, columns[3].w) * scales.w);
    }
  }
}

// Four tokens by four dimensions of values.
fn load_values(head: u32, local: u32) -> Lines {
  var lines: Lines;
  for (var n = 0u; n < turns(HELD); n++) {
    let i = min(n * LANES + local, FOURS - 1u);
    lines.words[n] = value_words(head, i / QUADS, min(i % QUADS, args.dims / 4u - 1u), args.dims);
    lines.scales[n] = value_scales(head, i / QUADS, args.dims);
  }
  return lines;
}

fn share_values(lines: Lines, local: u32) {
  for (var n = 0u; n < turns(HELD); n++) {
    let i = n * LANES + local;
    if (FOURS % LANES == 0u || i < FOURS) {
      let columns = columns_of(lines.words[n], min(i % QUADS, args.dims / 4u - 1u));
      let at = i % QUADS * 4u * STRIDE + i / QUADS;
      ws[at] = bounded(columns[0] * lines.scales[n]);
      ws[at + STRIDE] = bounded(columns[1] * lines.scales[n]);
      ws[at + 2u * STRIDE] = bounded(columns[2] * lines.scales[n]);
      ws[at + 3u * STRIDE] = bounded(columns[3] * lines.scales[n]);
    }
  }
}

fn bounded(four: vec4f) -> Half {
  return Half(clamp(four, vec4f(-65504.0), vec4f(65504.0)));
}
