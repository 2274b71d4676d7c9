// The worker that encodes a page's video. The first message is the call.

import { encodeMp4 } from '../../files/video/encode-mp4.ts';
import { answerCall, type VideoCall } from '../thread/video-thread.ts';
import { portOfEnd, type End } from './thread.ts';
import { announceLife } from './worker-life.ts';

declare const self: typeof globalThis & End;

announceLife(self);

self.addEventListener(
  'message',
  ({ data }: MessageEvent<VideoCall>) => void answerCall(portOfEnd(self), encodeMp4, data),
  { once: true },
);
