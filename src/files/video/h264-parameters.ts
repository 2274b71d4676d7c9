// The sequence parameter set of an H.264 stream (ITU-T H.264, 7.3.2.1). The encoder's leaves out colours, which decoders then guess, and
// its level overlooks the rate.

import type { VideoColours } from './colours.ts';

/** Levels (A.3.1) with the most blocks of 16 × 16 pixels in a second, and in a frame. */
const LEVELS: readonly (readonly [level: number, rate: number, frame: number])[] = [
  [10, 1485, 99],
  [11, 3000, 396],
  [12, 6000, 396],
  [13, 11_880, 396],
  [21, 19_800, 792],
  [22, 20_250, 1620],
  [30, 40_500, 1620],
  [31, 108_000, 3600],
  [32, 216_000, 5120],
  [40, 245_760, 8192],
  [50, 589_824, 22_080],
  [51, 983_040, 36_864],
  [52, 2_073_600, 36_864],
];

/** The lowest level of decoders that keep up with a video; the highest known one if none does. */
function levelOf(blocks: number, fps: number): number {
  const found = LEVELS.find(([, rate, frame]) => blocks <= frame && blocks * fps <= rate);
  return (found ?? LEVELS.at(-1)!)[0];
}

/** Sets 0 and 1: the stream keeps to what Baseline and Main have in common, which all decoders know. */
const CONSTRAINTS = 0xc0;

/** Returns a parameter set of the Baseline profile with the video's level, and with its colours in place of what it says of its use (VUI). */
export function withUsage(
  set: Uint8Array,
  { colours, blocks, fps }: { colours: VideoColours; blocks: number; fps: number },
): Uint8Array {
  const bits = new BitReader(withoutEscapes(set.subarray(4)));
  skipToUsage(bits);
  const kept = bits.upTo(bits.at);
  const { primaries, transfer, matrix, isFull } = colours;
  const usage = [
    '1', // vui_parameters_present_flag
    '00', // no aspect ratio: pixels are square; no overscan
    `1101${isFull ? 1 : 0}1`, // video_signal_type_present_flag, video_format 5, range, colour_description_present_flag
    ...[primaries, transfer, matrix].map((code) => code.toString(2).padStart(8, '0')),
    `1${golomb(1)}${golomb(1)}`, // chroma_loc_info: colours are those of the middle of four pixels
    '0000', // no timing, no HRD of both kinds, no pic_struct
    '1', // bitstream_restriction_flag: frames are shown in the order in which they come
    '1', // motion vectors may point over the edges
    ...[0, 0, 16, 16, 0, bits.references].map(golomb),
    '1', // rbsp_stop_one_bit
  ].join('');
  const head = [set[0]!, set[1]!, set[2]! | CONSTRAINTS, levelOf(blocks, fps)];
  return new Uint8Array([...head, ...withEscapes(bytesOf(kept + usage))]);
}

/** Reads all that stands before vui_parameters_present_flag. */
function skipToUsage(bits: BitReader): void {
  bits.golomb(); // seq_parameter_set_id
  bits.golomb(); // log2_max_frame_num_minus4
  const order = bits.golomb(); // pic_order_cnt_type
  if (order === 0) bits.golomb(); // log2_max_pic_order_cnt_lsb_minus4
  if (order === 1) {
    bits.skip(1);
    for (let i = 0; i < 2; i++) bits.golomb();
    const count = bits.golomb();
    for (let i = 0; i < count; i++) bits.golomb();
  }
  bits.references = bits.golomb(); // max_num_ref_frames
  bits.skip(1);
  for (let i = 0; i < 2; i++) bits.golomb(); // width and height in blocks
  if (!bits.flag()) bits.skip(1); // frame_mbs_only_flag, mb_adaptive_frame_field_flag
  bits.skip(1); // direct_8x8_inference_flag
  if (bits.flag()) for (let i = 0; i < 4; i++) bits.golomb(); // frame_cropping
}

class BitReader {
  at = 0;
  references = 0;
  readonly #bits: string;

  constructor(bytes: Uint8Array) {
    this.#bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  }

  upTo(end: number): string {
    return this.#bits.slice(0, end);
  }

  skip(count: number): void {
    this.at += count;
  }

  flag(): boolean {
    return this.#bits[this.at++] === '1';
  }

  /** An unsigned or signed Exp-Golomb code, as the unsigned one. */
  golomb(): number {
    const one = this.#bits.indexOf('1', this.at);
    const length = 2 * (one - this.at) + 1;
    const value = parseInt(this.#bits.slice(one, this.at + length), 2) - 1;
    this.at += length;
    return value;
  }
}

/** The unsigned Exp-Golomb code of a number. */
function golomb(value: number): string {
  const code = (value + 1).toString(2);
  return '0'.repeat(code.length - 1) + code;
}

const bytesOf = (bits: string): number[] =>
  (bits.match(/.{1,8}/g) ?? []).map((byte) => parseInt(byte.padEnd(8, '0'), 2));

/** Two zeros and a byte up to 3 would look like the start of a unit, so that a 3 stands between them. */
function withEscapes(bytes: readonly number[]): number[] {
  const written: number[] = [];
  for (const byte of bytes) {
    if (byte <= 3 && written.at(-1) === 0 && written.at(-2) === 0) written.push(3);
    written.push(byte);
  }
  return written;
}

const withoutEscapes = (bytes: Uint8Array): Uint8Array =>
  bytes.filter((byte, i) => !(byte === 3 && bytes[i - 1] === 0 && bytes[i - 2] === 0 && i > 1));
