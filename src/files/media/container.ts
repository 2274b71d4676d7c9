// Containers of video and sound (MP4, WebM, QuickTime, MPEG-TS …), opened by mediabunny with FFmpeg's decoders, which the optional package
// @mediabunny/server brings. Its license does not allow them to be part of this package.

import { type EngineError, unsupported } from '../error.ts';
import { fileText } from './media-nouns.ts';
import type { StatedColours } from './video-colours.ts';

/** The part of mediabunny that is used here. */
export interface Mediabunny {
  Input: new (options: { source: object; formats: readonly unknown[] }) => ContainerInput;
  BufferSource: new (bytes: Uint8Array) => object;
  ALL_FORMATS: readonly unknown[];
  VideoSampleSink: new (track: VideoTrack) => {
    samplesAtTimestamps(times: Iterable<number>): AsyncGenerator<VideoSample | null, void>;
  };
  EncodedPacketSink: new (track: VideoTrack) => {
    packets(
      first?: undefined,
      end?: undefined,
      options?: { metadataOnly: true },
    ): AsyncGenerator<{ timestamp: number; duration: number }, void>;
  };
  AudioSampleSink: new (track: AudioTrack) => { samples(): AsyncGenerator<AudioSample, void> };
}

export interface ContainerInput {
  getPrimaryVideoTrack(): Promise<VideoTrack | null>;
  getPrimaryAudioTrack(): Promise<AudioTrack | null>;
  dispose(): void;
}

export interface VideoTrack {
  /** null: an unknown codec. */
  readonly codec: string | null;
  readonly codedWidth: number;
  readonly codedHeight: number;
  /** Degrees clockwise. */
  readonly rotation: 0 | 90 | 180 | 270;
  canDecode(): Promise<boolean>;
}

export interface VideoSample {
  readonly visibleRect: { width: number; height: number };
  /** null: a format without a name. */
  readonly format: string | null;
  readonly colorSpace: StatedColours;
  /** Without a format: the sample's own. */
  allocationSize(options?: { format: 'RGBA' }): number;
  copyTo(target: Uint8Array, options?: { format: 'RGBA' }): Promise<unknown>;
  close(): void;
}

export interface AudioTrack {
  /** null: an unknown codec. */
  readonly codec: string | null;
  canDecode(): Promise<boolean>;
}

export interface AudioSample {
  readonly numberOfChannels: number;
  readonly numberOfFrames: number;
  readonly sampleRate: number;
  copyTo(target: Float32Array, options: { planeIndex: number; format: 'f32-planar' }): void;
  close(): void;
}

let loading: Promise<Mediabunny | null> | null = null;

/** mediabunny with FFmpeg's decoders; null if the optional package is not installed. */
export function loadMediabunny(): Promise<Mediabunny | null> {
  loading ??= importMediabunny();
  return loading;
}

/** Names that the compiler does not look for: the packages are optional, and no types of theirs are installed. */
const [SERVER, LIBRARY, DECODERS]: readonly string[] = ['@mediabunny/server', 'mediabunny', 'node-av'];

async function importMediabunny(): Promise<Mediabunny | null> {
  try {
    const server = (await import(SERVER!)) as {
      registerMediabunnyServer(options: { hardwareContext: null }): void;
    };
    const library = (await import(LIBRARY!)) as Mediabunny;
    await silenceDecoders();
    // Without this the decoders open every GPU that they find, beside the engine's own.
    server.registerMediabunnyServer({ hardwareContext: null });
    return library;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** FFmpeg writes notes on damaged files to standard error. */
async function silenceDecoders(): Promise<void> {
  interface Decoders {
    Log: { setLevel(level: number): void };
    AV_LOG_QUIET: number;
  }
  const decoders = (await import(DECODERS!).catch(() => null)) as Decoders | null;
  decoders?.Log.setLevel(decoders.AV_LOG_QUIET);
}

/** Node states a code; bundlers put an error of their own in the place of an optional package that they did not find. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : null;
  return code === 'ERR_MODULE_NOT_FOUND' || error.message.startsWith('Could not resolve "');
}

/** The error for a container without the package that reads it. */
export function needsMediabunny(name: string, format: string, instead: string): EngineError {
  return unsupported(
    `${name} is ${fileText(format)}, which needs the optional package @mediabunny/server: run npm install @mediabunny/server beside svc-engine, or ${instead}`,
    name,
  );
}
