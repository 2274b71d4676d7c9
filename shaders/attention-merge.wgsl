// Merges the chunks of paged attention that were computed in separate workgroups, in order. A workgroup per row and query head.
#import "lib/attention-args.wgsl"
#import "lib/batch.wgsl"
#import "lib/chunk-merge.wgsl"
#import "lib/chunk-parts.wgsl"
#import "lib/sinks.$SINKS.wgsl"
@group(0) @binding(8) var<storage, read> parts: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tile = tiles[workgroup.x];
  let start = tile.start;
  let chunks = vec2u(first_page_of(tile, start), last_page_of(tile, start + tile.rows - 1u)) / CHUNK;
  if (workgroup.z >= tile.rows || chunks.x == chunks.y) {
    return;
  }
  let row = tile.first_row + workgroup.z;
  let head = workgroup.y;
  let begin = first_page_of(tile, start + workgroup.z) / CHUNK - chunks.x;
  let end = last_page_of(tile, start + workgroup.z) / CHUNK - chunks.x;
  for (var quad = lane; quad < args.value_dims / 4u; quad += 32u) {
    var met = Met(MASKED, 0.0);
    var value = vec4f(0.0);
    for (var chunk = begin; chunk <= end; chunk++) {
      let at = part_at(chunk, row, head);
      let merged = merge(met, Met(parts[at].x, parts[at].y));
      value = fma(value, vec4f(merged.before), parts[at + 1u + quad] * merged.chunk);
      met = merged.met;
    }
    y[row * args.y_quads + head * args.value_dims / 4u + quad] = value / total_of(met, head);
  }
}
