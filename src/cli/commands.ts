// The commands of svc. Each loads its modules when it is run, and the engine when it is needed.

import type { Commands } from './run.ts';

export const COMMANDS: Commands = {
  serve: {
    summary: 'Serve models over HTTP, for OpenAI-style clients.',
    elsewhere: ['server', 'start'],
    load: async () => {
      const { openTextModel, openImageModel, openEmbeddingModel, openTranscriptionModel } =
        await import('../index.ts');
      return (await import('./serve/serve.ts')).createServe({
        text: openTextModel,
        image: openImageModel,
        embedding: openEmbeddingModel,
        transcription: openTranscriptionModel,
      });
    },
  },
  chat: {
    summary: 'Talk to a model in the terminal.',
    elsewhere: ['run'],
    load: async () =>
      (await import('./chat/chat.ts')).createChat((await import('../index.ts')).openTextModel),
  },
  generate: {
    summary: 'Draw images from prompts with a diffusion model.',
    load: async () =>
      (await import('./generate/generate.ts')).createGenerate((await import('../index.ts')).openImageModel),
  },
  transcribe: {
    summary: 'Write what is said in a sound file.',
    load: async () =>
      (await import('./transcribe.ts')).createTranscribe((await import('../index.ts')).openAny),
  },
  plan: {
    summary: 'Show what a model would take, before it is downloaded.',
    elsewhere: ['show', 'info'],
    load: async () => (await import('./plan.ts')).plan,
  },
  pull: {
    summary: 'Download a model from the hub.',
    elsewhere: ['download', 'install', 'get'],
    load: async () => (await import('./pull.ts')).pull,
  },
  list: {
    summary: 'List the models on this machine.',
    elsewhere: ['ls', 'ps'],
    load: async () => (await import('./list.ts')).list,
  },
  rm: {
    summary: 'Remove a downloaded model.',
    elsewhere: ['delete', 'uninstall'],
    load: async () => (await import('./rm.ts')).rm,
  },
  doctor: {
    summary: 'Show the GPU adapters, check them, and say what is missing.',
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  version: {
    summary: 'Print the version.',
    load: async () => (await import('./version.ts')).version,
  },
};
