// The settings for reading images, videos and sounds: bounds on what is decoded, which programs have too, and how a server fetches them.

import { DEFAULTS } from './limits.ts';
import { rowsWith, type Settings } from './setting.ts';

/** Bounds on one medium; a setting of opened models, because the engine decodes. */
export const MEDIA_BOUNDS = rowsWith(
  { models: ['text'] },
  {
    maxImagePixels: {
      kind: { type: 'integer', min: 1 },
      help: 'Most pixels of an image, or of a frame.',
      default: DEFAULTS.imagePixels,
      flag: { group: 'Media', otherwise: String(DEFAULTS.imagePixels) },
    },
    maxVideoPixels: {
      kind: { type: 'integer', min: 1 },
      help: 'Most pixels that are decoded of a video, all frames together.',
      default: DEFAULTS.videoPixels,
      flag: { group: 'Media', otherwise: String(DEFAULTS.videoPixels) },
    },
    maxVideoFrames: {
      kind: { type: 'integer', min: 1 },
      help: 'Most frames of a video, of which a model takes some.',
      default: DEFAULTS.videoFrames,
      flag: { group: 'Media', otherwise: String(DEFAULTS.videoFrames) },
    },
    maxMediaSeconds: {
      kind: { type: 'integer', min: 1 },
      help: 'Longest video or sound, in seconds.',
      models: ['text', 'transcription'],
      default: DEFAULTS.mediaSeconds,
      flag: { group: 'Media', otherwise: String(DEFAULTS.mediaSeconds) },
    },
    /** Time in milliseconds. */
    mediaDecodeTimeout: {
      kind: { type: 'duration' },
      help: 'How long decoding one medium may take.',
      models: ['text', 'transcription'],
      default: DEFAULTS.mediaDecodeTimeout,
      flag: { group: 'Media', otherwise: `${DEFAULTS.mediaDecodeTimeout / 1000}` },
    },
  },
);

/** How a server reads the media that requests name. */
export const MEDIA_FETCHING = {
  /** Size in bytes. */
  maxMediaBytes: {
    kind: { type: 'bytes' },
    help: 'Most bytes of the media of one request together.',
    default: DEFAULTS.mediaBytes,
    flag: { group: 'Media', otherwise: `${DEFAULTS.mediaBytes / 1e6}MB` },
  },
  /** Time in milliseconds. */
  mediaTimeout: {
    kind: { type: 'duration' },
    help: 'How long fetching one medium may take, redirects included.',
    default: DEFAULTS.mediaTimeout,
    flag: { group: 'Media', otherwise: `${DEFAULTS.mediaTimeout / 1000}` },
  },
  allowedMediaPath: {
    kind: { type: 'text' },
    help: 'Folder whose files requests may name by file: URLs.',
    flag: {
      group: 'Media',
      value: 'folder',
      otherwise: 'none',
      elsewhere: ['allowed-local-media-path', 'media-path'],
    },
  },
  allowPrivateMedia: {
    kind: { type: 'boolean' },
    help: 'Requests may name media on this machine and in private networks.',
    default: false,
    flag: { group: 'Media', otherwise: 'off' },
  },
  limitMmDataPerRequest: {
    kind: { type: 'record', of: { type: 'integer', min: 0 } },
    help: 'Most media of a kind in one request, as {"image": 4, "video": 1, "audio": 1}.',
    flag: {
      group: 'Media',
      value: 'json',
      otherwise: 'what the context holds',
      elsewhere: ['limit-mm-per-prompt'],
    },
  },
} as const satisfies Settings;
