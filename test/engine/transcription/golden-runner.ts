// The runner of a tiny transcriber, which ends with the test.

import { onTestFinished } from 'vitest';
import { TRANSCRIPTION_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openTranscriptionRunner } from '../../../src/engine/transcription/runner.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { readProcessors } from '../../../src/files/checkpoint/processors.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { readTranscriber } from '../../../src/models/audio/transcribers.ts';

export async function openGoldenRunner(path: string) {
  const device = await nodePlatform.openDevice({ safe: true, memoryBudget: 2 ** 30 });
  onTestFinished(() => device.destroy());
  const folder = await nodePlatform.openFolder(path);
  const checkpoint = await openCheckpoint(folder, TRANSCRIPTION_CLASSES);
  const processors = await readProcessors(folder, await folder.names());
  const transcriber = readTranscriber(
    { config: checkpoint.config, processors, generation: {} },
    checkpoint.architecture,
  );
  const runner = await openTranscriptionRunner(device, checkpoint, transcriber, {
    ...{ quantization: 'none', slots: 3 },
    onProgress: () => {},
    onNote: () => {},
  });
  await checkpoint.close();
  return { runner, sound: transcriber.sound };
}
