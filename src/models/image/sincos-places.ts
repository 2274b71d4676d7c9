// Positions of an image's tokens as waves along both sides, for transformers that add them to their input (PixArt, Sana). source: diffusers'
// get_2d_sincos_pos_embed

const MAX_PERIOD = 10000;

export interface SincosPlaces {
  rows: number;
  columns: number;
  /** Columns of the states, a multiple of 4. */
  hidden: number;
  /** Tokens along a side of the images in training, whose positions are 0 … base / scale at any size. */
  base: number;
  scale: number;
}

/** Sines and cosines of the column, then those of the row, of each token, [rows · columns, hidden]. */
export function sincosPlaces({
  rows,
  columns,
  hidden,
  base,
  scale,
}: SincosPlaces): Float32Array<ArrayBuffer> {
  const made = new Float32Array(rows * columns * hidden);
  const quarter = hidden / 4;
  const rates = Array.from({ length: quarter }, (_, i) => MAX_PERIOD ** (-i / quarter));
  for (let token = 0; token < rows * columns; token++) {
    const places = [
      ((token % columns) * base) / columns / scale,
      (Math.floor(token / columns) * base) / rows / scale,
    ];
    places.forEach((place, axis) =>
      rates.forEach((rate, i) => {
        const at = token * hidden + 2 * axis * quarter + i;
        made[at] = Math.sin(place * rate);
        made[at + quarter] = Math.cos(place * rate);
      }),
    );
  }
  return made;
}
