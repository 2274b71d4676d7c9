// Merges the chunks of decode rows that were computed in separate workgroups. A workgroup per row and query head: a lane holds four
// dimensions, and WALKERS groups of lanes divide the chunks.
#import "lib/attention-args.wgsl"
#import "lib/batch.wgsl"
#import "lib/own-chunks.wgsl"
#import "lib/sinks.$SINKS.wgsl"
@group(0) @binding(8) var<storage, read> parts: array<vec4f>;

const VALUE_DIMS = 128u;

const LANES = 128u;
const QUADS = VALUE_DIMS / 4u;
const WALKERS = LANES / QUADS;

var<workgroup> states: array<vec2f, MOST_CHUNKS + 1u>; // the last one where a window begins within a chunk
var<workgroup> spread: array<vec4f, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let head = workgroup.y;
  let chunks = chunks_of(tile, tile.start);
  let count = chunks.last - chunks.first + 1u;
  if (count == 1u) {
    return;
  }
  for (var chunk = local; chunk < count; chunk += LANES) {
    states[chunk] = parts[part_at(chunk, workgroup.x, head)].xy;
  }
  workgroupBarrier();
  var met = Met(MASKED, 0.0);
  for (var chunk = 0u; chunk < count; chunk++) {
    met.largest = max(met.largest, states[chunk].x);
  }
  for (var chunk = 0u; chunk < count; chunk++) {
    met.sum += states[chunk].y * exp(states[chunk].x - met.largest);
  }
  let quad = local % QUADS;
  let walker = local / QUADS;
  var value = vec4f(0.0);
  if (walker < WALKERS) {
    for (var chunk = walker; chunk < count; chunk += WALKERS) {
      let weight = exp(states[chunk].x - met.largest);
      value = fma(vec4f(weight), parts[part_at(chunk, workgroup.x, head) + 1u + quad], value);
    }
  }
  spread[local] = value;
  workgroupBarrier();
  if (walker == 0u) {
    var sum = spread[quad];
    for (var k = 1u; k < WALKERS; k++) {
      sum += spread[k * QUADS + quad];
    }
    y[tile.first_row * args.y_quads + head * QUADS + quad] = sum / total_of(met, head);
  }
}
