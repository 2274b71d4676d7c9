// A row's rotary frequencies use its position in time, its height and its width in turns, and its position in time where the others end.
@group(0) @binding(4) var<storage, read> planes: array<vec2u>; // (height, width) of each row

fn position_of(row: u32, i: u32) -> u32 {
  if (i % 3u == 1u && i < args.height) {
    return planes[row].x;
  }
  if (i % 3u == 2u && i < args.width) {
    return planes[row].y;
  }
  return rows[row].position;
}
