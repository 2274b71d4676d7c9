// The column at which a row of a part stands, counted over the groups of this window; NOWHERE where the row is outside of the part or of the window.
// Members of Args: part_rows, unit, unit_stride, first_column, first_group, groups.
const NOWHERE = 0xffffffffu;

fn part_column(matrix_row: u32) -> u32 {
  let column = args.first_column + matrix_row / args.unit * args.unit_stride + matrix_row % args.unit;
  let group = column / 32u - args.first_group;
  let is_inside = matrix_row < args.part_rows && column / 32u >= args.first_group && group < args.groups;
  return select(NOWHERE, group * 32u + column % 32u, is_inside);
}
