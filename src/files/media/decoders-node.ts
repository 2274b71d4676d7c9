// Decoders of media files in Node.

import { EngineError } from '../error.ts';
import type { MediaDecoders } from './decoders.ts';
import { readImage } from './read-image.ts';
import { readVideo } from './read-video.ts';

export const NODE_DECODERS: MediaDecoders = {
  image: readImage,
  video: readVideo,
  audio: async (_, name) => {
    throw new EngineError('unsupported', `${name} is a sound, which is not decoded: send its samples`, {
      param: name,
    });
  },
};
