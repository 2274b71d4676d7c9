// Decoders of media files in Node.

import type { MediaDecoders } from './decoders.ts';
import { readImage } from './read-image.ts';
import { readSound } from './read-sound.ts';
import { readVideo } from './read-video.ts';

export const NODE_DECODERS: MediaDecoders = { image: readImage, video: readVideo, audio: readSound };
