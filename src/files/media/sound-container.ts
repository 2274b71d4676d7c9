// The sound of a container (M4A, MP4, WebM, AAC …), piece by piece, by the optional package that also decodes videos.

import { badRequest, type EngineError, unsupported } from '../error.ts';
import { type AudioSample, type AudioTrack, loadMediabunny, needsMediabunny } from './container.ts';
import type { SoundPiece } from './sound-pieces.ts';

/** Throws unsupported without the package and for other codecs, and bad_request. */
export async function containerPieces(
  bytes: Uint8Array,
  name: string,
  format: string,
): Promise<AsyncGenerator<SoundPiece, void>> {
  const library = await loadMediabunny();
  if (!library) throw needsMediabunny(name, format, 'send the sound as WAV, MP3, FLAC or Ogg');
  return (async function* () {
    const source = new library.BufferSource(bytes);
    const input = new library.Input({ source, formats: library.ALL_FORMATS });
    try {
      const track = await input.getPrimaryAudioTrack();
      if (!track) throw badRequest(`${name} has no sound track; give a sound`, name);
      if (!(await track.canDecode())) throw undecoded(name, track);
      for await (const sample of new library.AudioSampleSink(track).samples()) yield pieceOf(sample);
    } finally {
      input.dispose();
    }
  })();
}

function undecoded(name: string, { codec }: AudioTrack): EngineError {
  return unsupported(
    `${name} has a sound track whose codec is not decoded (${codec ?? 'unknown'}); give AAC, MP3, Opus, Vorbis or FLAC`,
    name,
  );
}

function pieceOf(sample: AudioSample): SoundPiece {
  try {
    const { numberOfChannels, numberOfFrames, sampleRate: rate } = sample;
    const channels = Array.from({ length: numberOfChannels }, (_, planeIndex) => {
      const channel = new Float32Array(numberOfFrames);
      sample.copyTo(channel, { planeIndex, format: 'f32-planar' });
      return channel;
    });
    return { channels, rate };
  } finally {
    sample.close();
  }
}
