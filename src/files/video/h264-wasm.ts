// H.264 by minih264 as WASM (h264-mp4-encoder), which runs wherever JavaScript does. It computes without pause: a worker calls this.

import { reasonOf, unsupported } from '../error.ts';
import { concatBytes, uint16, viewOf } from '../image/file-parts.ts';
import { type Frames, frameOf } from '../image/pixels.ts';
import { COLOURS, even, planeBytes, toPlanes } from './colours.ts';
import { blocksOf } from './formats.ts';
import { withUsage } from './h264-parameters.ts';
import type { H264Video } from './mp4.ts';
import { boxAt } from './mp4-boxes.ts';

export interface H264Options {
  fps: number;
  /** 10, the best, to 51. */
  quantizer: number;
}

/** Seconds between frames that need no others, at which players can begin. */
const KEY_SECONDS = 2;
/** How little time the encoder takes: 0 to 10. */
const SPEED = 5;

/** The smallest module. The library would wait for its own forever where none may be compiled. */
const EMPTY_MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

function assertWasm(): void {
  try {
    void new WebAssembly.Module(EMPTY_MODULE);
  } catch (cause) {
    throw unsupported(
      `videos are encoded by WebAssembly, which does not run here (${reasonOf(cause)}): allow script-src 'wasm-unsafe-eval' in the content security policy of video-worker.js`,
      undefined,
      cause,
    );
  }
}

/** Throws unsupported where there is no WebAssembly. */
export async function encodeH264(clip: Frames, { fps, quantizer }: H264Options): Promise<H264Video> {
  const { width, height, frames: count = 1 } = clip;
  const stored = { width: even(width), height: even(height) };
  assertWasm();
  const { default: library } = await import('h264-mp4-encoder');
  const encoder = await library.createH264MP4Encoder();
  try {
    Object.assign(encoder, {
      ...stored,
      frameRate: fps,
      quantizationParameter: quantizer,
      speed: SPEED,
      groupOfPictures: Math.max(1, Math.round(KEY_SECONDS * fps)),
    });
    encoder.initialize();
    const planes = new Uint8Array(planeBytes(clip));
    for (let i = 0; i < count; i++) {
      toPlanes(frameOf(clip, i), planes);
      encoder.addFrameYuv(planes);
    }
    encoder.finalize();
    const file = encoder.FS.readFile(encoder.outputFilename);
    encoder.FS.unlink(encoder.outputFilename);
    const { own, frames } = streamIn(file);
    const configuration = configurationOf(own, fps, stored);
    return { width, height, stored, fps, colours: COLOURS, configuration, frames };
  } finally {
    encoder.delete();
  }
}

/** The configuration and the frames of the file that the encoder writes. */
function streamIn(file: Uint8Array): { own: Uint8Array; frames: H264Video['frames'] } {
  const part = (path: string): Uint8Array => {
    const found = boxAt(file, path);
    if (found === null) throw new Error(`the encoder's file has no ${path}`);
    return found;
  };
  const TABLE = 'moov/trak/mdia/minf/stbl';
  const sizes = part(`${TABLE}/stsz`);
  const view = viewOf(sizes);
  const media = part('mdat');
  const frames: H264Video['frames'][number][] = [];
  const common = view.getUint32(4); // 0: each frame has an entry
  let at = 0;
  for (let i = 0; i < view.getUint32(8); i++) {
    const size = common || view.getUint32(12 + 4 * i);
    frames.push(frameIn(media.subarray(at, at + size)));
    at += size;
  }
  return { own: part(`${TABLE}/stsd/avc1/avcC`), frames };
}

const [KEY_UNIT, PARAMETER_SETS] = [5, [7, 8]];

/** A frame without parameter sets, which the configuration contains. */
function frameIn(sample: Uint8Array): H264Video['frames'][number] {
  const view = viewOf(sample);
  const units: Uint8Array[] = [];
  let isKey = false;
  for (let at = 0; at + 4 < sample.length;) {
    const end = at + 4 + view.getUint32(at);
    const type = sample[at + 4]! & 31;
    if (type === KEY_UNIT) isKey = true;
    if (!PARAMETER_SETS.includes(type)) units.push(sample.subarray(at, end));
    at = end;
  }
  return { bytes: concatBytes(...units), isKey };
}

/** The encoder's configuration, with what its parameter set leaves out. */
function configurationOf(own: Uint8Array, fps: number, stored: H264Video['stored']): Uint8Array {
  const length = viewOf(own).getUint16(6);
  const about = { colours: COLOURS, blocks: blocksOf(stored), fps };
  const set = withUsage(own.subarray(8, 8 + length), about);
  // Version, profile, constraints and level stand before the sets as well.
  const head = concatBytes(own.subarray(0, 1), set.subarray(1, 4), own.subarray(4, 6));
  return concatBytes(head, uint16(set.length), set, own.subarray(8 + length));
}
