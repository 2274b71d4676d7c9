// The frames of a video in a container. Times come from the packets, which are read without decoding; then only the chosen frames, and those that
// they are predicted from, are decoded.

import { orient } from '../image/rgba.ts';
import type { Pixels } from '../image/pixels.ts';
import { badRequest, unsupported } from '../error.ts';
import {
  type ContainerInput,
  loadMediabunny,
  type Mediabunny,
  needsMediabunny,
  type VideoSample,
  type VideoTrack,
} from './container.ts';
import { checkVideo, chooseFrames, countDecoded, fitted } from './frame-choice.ts';
import type { Clip, VideoSource as Source } from './decoded.ts';
import { MEDIA_NOUNS } from './media-nouns.ts';
import type { FrameChoice, MediaBounds } from './media.ts';
import { beyond, undecodable } from './media-error.ts';
import { planeFormat, rgbOfPlanes } from './video-colours.ts';

/** EXIF's number for a turn by so many degrees. */
const ORIENTATIONS: Readonly<Record<VideoTrack['rotation'], number>> = { 0: 1, 90: 6, 180: 3, 270: 8 };

/** Decodes the frames that are chosen. Throws unsupported without the package that decodes, bad_request, and the signal's reason. */
export async function readContainer(
  bytes: Uint8Array,
  { name, format }: { name: string; format: string },
  bounds: MediaBounds,
  choice: FrameChoice,
  signal?: AbortSignal,
): Promise<Clip> {
  const library = await loadMediabunny();
  if (!library) throw needsMediabunny(name, format, 'send the video as GIF or animated WebP');
  let input: ContainerInput | undefined;
  try {
    input = new library.Input({ source: new library.BufferSource(bytes), formats: library.ALL_FORMATS });
    const track = await input.getPrimaryVideoTrack();
    if (!track) throw badRequest(`${name} has no video track; give a video`, name);
    return await readTrack(library, track, { name, bounds, choice, ...(signal && { signal }) });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw undecodable(name, MEDIA_NOUNS.video.one, cause);
  } finally {
    input?.dispose();
  }
}

interface TrackReading {
  name: string;
  bounds: MediaBounds;
  choice: FrameChoice;
  signal?: AbortSignal;
}

async function readTrack(library: Mediabunny, track: VideoTrack, reading: TrackReading): Promise<Clip> {
  const { name, bounds, choice, signal } = reading;
  if (!(await track.canDecode())) {
    throw unsupported(
      `${name} has a video track whose codec is not decoded (${track.codec ?? 'unknown'}); give H.264, H.265, AV1, VP8 or VP9`,
      name,
    );
  }
  const { source, middles } = await trackSource(library, track, reading);
  checkVideo(source, name, bounds);
  const { decode, clip } = chooseFrames(source, name, bounds, choice);
  const wanted = decode.map((index) => middles[index]!);
  const frames: Pixels[] = [];
  const count = countDecoded(name, bounds);
  for await (const sample of new library.VideoSampleSink(track).samplesAtTimestamps(wanted)) {
    if (!sample) throw new Error(`frame ${decode[frames.length]} is missing`);
    try {
      signal?.throwIfAborted();
      count(sample.visibleRect);
      const frame = await pixelsOf(sample, ORIENTATIONS[track.rotation]);
      frames.push(fitted(frame, source, choice));
    } finally {
      sample.close();
    }
  }
  if (frames.length < decode.length) throw new Error(`frame ${decode[frames.length]} is missing`);
  return clip(frames);
}

interface TrackSource {
  source: Source;
  /** Timestamp in the middle of each frame: a container's clock rounds the beginnings. */
  middles: number[];
}

async function trackSource(
  library: Mediabunny,
  track: VideoTrack,
  reading: TrackReading,
): Promise<TrackSource> {
  const { name, bounds, signal } = reading;
  const { maxVideoFrames: most } = bounds;
  const stamps: number[] = [];
  let end = 0;
  const sink = new library.EncodedPacketSink(track);
  for await (const { timestamp, duration } of sink.packets(undefined, undefined, { metadataOnly: true })) {
    signal?.throwIfAborted();
    stamps.push(timestamp);
    end = Math.max(end, timestamp + duration);
    if (stamps.length > most) throw beyond(name, `has more than ${most} frames`, 'maxVideoFrames', most);
  }
  // Packets come in decoding order, which differs where frames are predicted from later ones.
  stamps.sort((a, b) => a - b);
  const rate = steadyRate(stamps);
  const duration = rate === null ? end - (stamps[0] ?? 0) : stamps.length / rate;
  const isTurned = track.rotation === 90 || track.rotation === 270;
  const { codedWidth, codedHeight } = track;
  const source = {
    width: isTurned ? codedHeight : codedWidth,
    height: isTurned ? codedWidth : codedHeight,
    frames: stamps.length,
    duration,
    fps: rate ?? (duration > 0 ? stamps.length / duration : 1),
  };
  return { source, middles: stamps.map((stamp, at) => (stamp + (stamps[at + 1] ?? end)) / 2) };
}

/** Seconds by which a container's clock may move a beginning: WebM's counts milliseconds, others are finer. */
const [COARSE_CLOCK, FINE_CLOCK] = [5.1e-4, 2e-5];

/**
 * Frames per second where the beginnings of the frames are those of a usual rate, but for the clock; null: they are not. Models choose frames by
 * whole numbers, which a rate that is measured would miss by a hair. `stamps` are sorted.
 */
export function steadyRate(stamps: readonly number[]): number | null {
  const [first = 0] = stamps;
  const span = (stamps.at(-1) ?? 0) - first;
  if (!(span > 0)) return null;
  const mean = (stamps.length - 1) / span;
  const usual = [Math.round(mean), (Math.round(mean * 1.001) * 1000) / 1001, Math.round(mean * 2) / 2];
  const isCoarse = stamps.every((stamp) => Math.abs(stamp * 1000 - Math.round(stamp * 1000)) < 1e-4);
  const clock = isCoarse ? COARSE_CLOCK : FINE_CLOCK;
  const isNear = (rate: number): boolean =>
    stamps.every((stamp, i) => Math.abs(stamp - first - i / rate) <= clock);
  return usual.find((rate) => rate > 0 && isNear(rate)) ?? null;
}

async function pixelsOf(sample: VideoSample, orientation: number): Promise<Pixels> {
  const { width, height } = sample.visibleRect;
  const layout = planeFormat(sample.format, sample.colorSpace);
  if (layout) {
    // The package would take every video for one of standard definition.
    const planes = new Uint8Array(sample.allocationSize());
    await sample.copyTo(planes);
    return orient(rgbOfPlanes(planes, { width, height }, layout, sample.colorSpace), orientation);
  }
  const rgba = new Uint8Array(sample.allocationSize({ format: 'RGBA' }));
  await sample.copyTo(rgba, { format: 'RGBA' });
  const data = new Uint8Array(3 * width * height);
  for (let from = 0, to = 0; to < data.length; from += 4, to += 3) {
    data[to] = rgba[from]!;
    data[to + 1] = rgba[from + 1]!;
    data[to + 2] = rgba[from + 2]!;
  }
  return orient({ width, height, data }, orientation);
}
