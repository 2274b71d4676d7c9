// What to open a model with if the call or command at hand is for another kind, for messages: a function in programs, a command in terminals.

import { type MessagePart, way } from './message.ts';

const SVC = 'npx svc-engine';

/** `path`: the model; left out: a path that the user knows. */
export const drawsWith = (path?: string): MessagePart => {
  const given = path === undefined ? '' : ` --model-path ${path} --prompt …`;
  return way('`openImageModel` draws with it', `\`${SVC} generate${given}\` draws with it`);
};

export const talksWith = (path: string): MessagePart =>
  way('`openTextModel` opens it', `\`${SVC} serve --model-path ${path}\` serves it`);

export const embedsWith = (path: string): MessagePart =>
  way(
    '`openEmbeddingModel` opens it',
    `\`${SVC} serve --model-path ${path}\` answers /v1/embeddings with it`,
  );

export const transcribesWith = (path: string): MessagePart =>
  way(
    '`openTranscriptionModel` opens it',
    `\`${SVC} serve --model-path ${path}\` answers /v1/audio/transcriptions with it`,
  );

/** Ends a message about a folder of models. */
export const servesAll = (path: string): MessagePart =>
  way('', `; \`${SVC} serve --models-dir ${path}\` serves every one`);

/** `has`: what the models of the classes do. */
export const listsClasses = (has: string): MessagePart =>
  way(`\`SUPPORTED\` lists the classes that ${has}`, `\`${SVC} doctor\` lists the classes that ${has}`);

/** How to fetch a model from the hub. */
export const FETCHING: MessagePart = way(
  'give its id on the hub, owner/name',
  `fetch it with \`${SVC} pull owner/name\``,
);
