// The sum of a row's squares over the lanes of a workgroup.
#import "lib/wide-row.wgsl"

struct Row {
  held: Held, // a lane's quads of the last turn
  squares: f32,
}

fn squared(row0: u32, local: u32) -> Row {
  var row = Row(Held(), 0.0);
  for (var first = 0u; first < args.quads; first += TURN) {
    row.held = held_quads(row0, first, local);
    for (var j = 0u; j < HELD; j++) {
      row.squares += dot(row.held[j], row.held[j]);
    }
  }
  row.squares = sum_of_lanes(row.squares, local);
  return row;
}
