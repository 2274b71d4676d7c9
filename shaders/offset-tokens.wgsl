// Adds to each sampled token what a table has for it, for models whose vocabulary is a part of another one.
#import "lib/choice.wgsl"

struct Args {
  count: u32, // entries of the table; tokens beyond stay
}

@group(0) @binding(0) var<storage, read_write> ids: array<u32>;     // sampled token by row
@group(0) @binding(1) var<storage, read_write> sampled: array<u32>; // sampled token by slot
@group(0) @binding(2) var<storage, read> choices: array<Choice>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<uniform> args: Args;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) id: vec3u) {
  let row = id.x;
  let token = ids[row];
  if (token >= args.count) {
    return;
  }
  let moved = token + offsets[token];
  ids[row] = moved;
  sampled[choices[row].slot] = moved;
}
