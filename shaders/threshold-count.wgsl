// One pass of a selection by rank among |x|, eight bits at a time from the highest on: of the values that begin with the bits found
// so far, counts each value of their next eight bits. NEXT: finds the smallest value above the selected one. The bits of a positive
// float increase with its value.
const NEXT = false;
const WORKGROUP = 64u;
const BINS = 256u;

struct Args {
  quads: u32,
  stride: u32,   // values from one row to the next
  columns: u32,  // values of a row
  shift: u32,    // number of bits below the eight that are counted
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> found: array<atomic<u32>>; // layout in threshold-pick.wgsl

var<workgroup> counts: array<atomic<u32>, BINS>;
var<workgroup> least: atomic<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(num_workgroups) workgroups: vec3u,
) {
  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    atomicStore(&counts[bin], 0u);
  }
  if (local == 0u) {
    atomicStore(&least, 0xffffffffu);
  }
  workgroupBarrier();
  let bits_found = atomicLoad(&found[0]);
  for (var i = id.x; i < args.quads; i += workgroups.x * WORKGROUP) {
    let column = i * 4u % args.stride;
    let bits = bitcast<vec4u>(x[i]) & vec4u(0x7fffffffu);
    for (var lane = 0u; lane < 4u && column + lane < args.columns; lane++) {
      let value = bits[lane];
      if (NEXT) {
        if (value > bits_found) {
          atomicMin(&least, value);
        }
      } else if (args.shift == 24u || value >> (args.shift + 8u) == bits_found) {
        atomicAdd(&counts[(value >> args.shift) & 255u], 1u);
      }
    }
  }
  workgroupBarrier();
  if (NEXT) {
    if (local == 0u) {
      atomicMin(&found[3], atomicLoad(&least));
    }
    return;
  }
  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    let count = atomicLoad(&counts[bin]);
    if (count > 0u) {
      atomicAdd(&found[4u + bin], count);
    }
  }
}
