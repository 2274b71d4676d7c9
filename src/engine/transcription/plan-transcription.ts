// Plans a transcription model: its runner is opened on devices that compute nothing, with weights that are not read.

import { openCheckpoint, readCheckpointConfig } from '../../files/checkpoint/checkpoint.ts';
import { readProcessors } from '../../files/checkpoint/processors.ts';
import type { Folder } from '../../files/source.ts';
import type { Device } from '../../gpu/device.ts';
import { readTranscriber } from '../../models/audio/transcribers.ts';
import type { Json } from '../../models/config-values.ts';
import { TRANSCRIPTION_CLASSES } from '../opening/architectures.ts';
import { listedNames, requestedHeaders, statedDtype } from '../plan/headers.ts';
import type { OpenOnPaper, PaperOpening, PaperSettings, PlanPlace } from '../plan/paper-model.ts';
import { NOWHERE } from '../plan/planned-checkpoint.ts';
import { plannedPage, weightsOf } from '../plan/planned-weights.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { MOST_WINDOWS } from './open.ts';
import { openTranscriptionRunner } from './runner.ts';

export const openTranscriptionOnPaper: OpenOnPaper = async (path, options, place, note) => {
  const files = await plannedFiles(await place.openFolder(path), place);
  const { checkpoint, transcriber } = files;
  const { tensors, configSource } = checkpoint;
  if (transcriber.alignmentProblem) note(`${path}: ${transcriber.alignmentProblem}`);
  const weights = weightsOf([plannedPage('', tensors, transcriber.page, configSource)]);
  const device = place.openDevice(options.memoryBudget);
  const bytesIn = weightBytesIn(device, tensors, transcriber.page);
  return {
    model: {
      quantizations: bytesIn.choices,
      contextLength: null,
      open: (budget, settings) => openRunner(place.openDevice(budget), files, settings),
    },
    choose: () => chooseQuantization(device, options.quantization, bytesIn, note),
    describe: () => ({ kind: 'transcription', architecture: transcriber.architecture, ...weights }),
  };
};

type PlannedFiles = Awaited<ReturnType<typeof plannedFiles>>;

async function plannedFiles(folder: Folder, place: PlanPlace) {
  const processors = await readProcessors(folder, await folder.names());
  const read = { ...(await readCheckpointConfig(folder, TRANSCRIPTION_CLASSES)), path: folder.path };
  const transcriberOf = (generation: Json) =>
    readTranscriber({ config: read.config, processors, generation }, read.architecture);
  if (!place.configsOnly) {
    const checkpoint = await openCheckpoint(folder, TRANSCRIPTION_CLASSES);
    const transcriber = transcriberOf(checkpoint.generationConfig);
    checkpoint.checkTokenizer();
    await checkpoint.close();
    return { checkpoint, transcriber };
  }
  const transcriber = transcriberOf({});
  const names = await listedNames(folder);
  const headers = requestedHeaders(transcriber.page, names, statedDtype(read.config));
  const tensors = new Map(
    [...headers].map(([name, header]) => [name, { ...header, source: NOWHERE, offset: 0 }]),
  );
  return { checkpoint: { ...read, tensors }, transcriber };
}

async function openRunner(
  device: Device,
  { checkpoint, transcriber }: PlannedFiles,
  { quantization }: PaperSettings,
): Promise<PaperOpening> {
  await openTranscriptionRunner(device, checkpoint, transcriber, {
    ...{ quantization, slots: MOST_WINDOWS, unread: true },
    onProgress: () => {},
    onNote: () => {},
  });
  device.arena.settle();
  const { weights, arena, step } = device.memory();
  return { weights, scratch: arena + step, bytes: device.memoryUsed, contextLength: null };
}
