// y[h] = scale · x[h] · W[h]ᵀ: a matrix for each head. Eight lanes own four columns each, and slice s of SLICES such lanes takes every SLICES-th block
// of k's; the sums of the slices are added in order. A sum depends on SLICES, never on ROWS or the other rows.
#import "weights/$W.wgsl"
#import "lib/head-linear-args.wgsl"

const ROWS = 4u;   // of a workgroup, at most SLICES unless that is 1
const SLICES = 8u; // 1: no lane waits for another

var<workgroup> sums: array<vec4f, 8u * SLICES * ROWS>;

@compute @workgroup_size(8u * SLICES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head_groups = (args.quads + 7u) / 8u; // workgroups of a head
  let head = args.first_head + workgroup.x / head_groups;
  let quad = workgroup.x % head_groups * 8u + local % 8u; // of the head's columns
  let slice = local / 8u;
  let place = place_of(head, min(quad, args.quads - 1u));
  let row0 = workgroup.y * ROWS;

  var c: array<vec4f, ROWS>;
  for (var b = slice; b < args.blocks; b += SLICES) {
    let block = place.group * args.blocks + b;
    let data = load_block(block, place.lane);
    var pack: Pack;
    for (var at = 0u; at < 8u; at++) {
      if (at % (STEP / 4u) == 0u) {
        pack = load_pack(block, at / (STEP / 4u), place.lane);
      }
      let w = unpack(pack, data, at);
      let k = b * 8u + at;
      for (var r = 0u; r < ROWS; r++) {
        // Behind a head's own inputs are those of the next.
        let xs = select(vec4f(0.0), x_quad(row0 + r, head, k), k < args.k_quads);
        c[r] = fma(vec4f(xs.w), w[3], fma(vec4f(xs.z), w[2], fma(vec4f(xs.y), w[1], fma(vec4f(xs.x), w[0], c[r]))));
      }
    }
  }
  let inside = quad < args.quads && place.inside;
  if (SLICES == 1u) {
    for (var r = 0u; r < ROWS; r++) {
      store(row0 + r, head, quad, c[r], inside);
    }
  } else {
    for (var r = 0u; r < ROWS; r++) {
      sums[(r * SLICES + slice) * 8u + local % 8u] = c[r];
    }
    workgroupBarrier();
    if (slice < ROWS) {
      var sum = vec4f(0.0);
      for (var s = 0u; s < SLICES; s++) {
        sum += sums[(slice * SLICES + s) * 8u + local % 8u];
      }
      store(row0 + slice, head, quad, sum, inside);
    }
  }
}

fn store(row: u32, head: u32, quad: u32, value: vec4f, inside: bool) {
  if (row >= args.rows) {
    return;
  }
  if (inside) {
    y[row * args.y_quads + head * args.y_head_quads + quad] = value * args.scale;
  }
  if (head + 1u == args.heads && quad == 0u) { // also the padding after the row's columns
    for (var at = args.heads * args.y_head_quads; at < args.y_quads; at++) {
      y[row * args.y_quads + at] = vec4f(0.0);
    }
  }
}
