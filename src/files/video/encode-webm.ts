// A video as a WebM file of VP9, by the optional package @mediabunny/server, which brings FFmpeg's encoders.

import { unsupported } from '../error.ts';
import { parametersText } from '../image/image-metadata.ts';
import { frameOf, type Frames, qualityOf } from '../image/pixels.ts';
import { loadMediabunny } from '../media/container.ts';
import { fpsOf, type VideoOptions } from './formats.ts';

/** The part of mediabunny that writes. */
interface Writer {
  Output: new (options: { format: object; target: { buffer: ArrayBuffer | null } }) => {
    addVideoTrack(source: object, about: { frameRate: number }): void;
    setMetadataTags(tags: { comment: string }): void;
    start(): Promise<void>;
    finalize(): Promise<void>;
  };
  WebMOutputFormat: new () => object;
  BufferTarget: new () => { buffer: ArrayBuffer | null };
  VideoSampleSource: new (options: { codec: 'vp9'; bitrate: unknown; keyFrameInterval: number }) => {
    add(sample: object): Promise<void>;
  };
  VideoSample: new (
    data: Uint8Array,
    about: { format: 'RGBA'; codedWidth: number; codedHeight: number; timestamp: number; duration: number },
  ) => { close(): void };
}

/** Names of bit rates, which mediabunny chooses by the size, and the least quality of each. */
const RATES: readonly (readonly [least: number, name: string])[] = [
  [90, 'QUALITY_VERY_HIGH'],
  [65, 'QUALITY_HIGH'],
  [45, 'QUALITY_MEDIUM'],
  [20, 'QUALITY_LOW'],
  [0, 'QUALITY_VERY_LOW'],
];
const KEY_SECONDS = 2;

/** Throws unsupported without the package. */
export async function encodeWebm(clip: Frames, options: VideoOptions): Promise<Uint8Array> {
  const library: unknown = await loadMediabunny();
  if (library === null)
    throw unsupported(
      'a WebM video needs the optional package @mediabunny/server: run npm install @mediabunny/server beside svc-engine, or write mp4',
      'format',
    );
  const { Output, WebMOutputFormat, BufferTarget, VideoSampleSource, VideoSample } = library as Writer;
  const fps = fpsOf(options);
  const quality = qualityOf(options);
  const rate = RATES.find(([least]) => quality >= least)![1];
  const target = new BufferTarget();
  const output = new Output({ format: new WebMOutputFormat(), target });
  const source = new VideoSampleSource({
    codec: 'vp9',
    bitrate: (library as Record<string, unknown>)[rate],
    keyFrameInterval: KEY_SECONDS,
  });
  output.addVideoTrack(source, { frameRate: fps });
  const { parameters, width, height, frames = 1 } = { ...options, ...clip };
  if (parameters) output.setMetadataTags({ comment: parametersText(parameters) });
  await output.start();
  for (let i = 0; i < frames; i++) {
    const about = { codedWidth: width, codedHeight: height, timestamp: i / fps, duration: 1 / fps };
    const sample = new VideoSample(rgbaOf(frameOf(clip, i).data), { format: 'RGBA', ...about });
    await source.add(sample);
    sample.close();
  }
  await output.finalize();
  return new Uint8Array(target.buffer!);
}

function rgbaOf(rgb: Uint8Array): Uint8Array {
  const rgba = new Uint8Array((rgb.length / 3) * 4).fill(255);
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
    rgba[to] = rgb[from]!;
    rgba[to + 1] = rgb[from + 1]!;
    rgba[to + 2] = rgb[from + 2]!;
  }
  return rgba;
}
