// Sections of a row's rotary frequencies use its position in time, its height and its width.
@group(0) @binding(4) var<storage, read> planes: array<vec2u>; // (height, width) of each row

fn position_of(row: u32, i: u32) -> u32 {
  if (i < args.height) {
    return rows[row].position;
  }
  return select(planes[row].x, planes[row].y, i >= args.width);
}
