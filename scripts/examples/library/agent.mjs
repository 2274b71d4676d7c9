// An agent: it reads the files of a folder by tools that check where they may read, asks before it writes, and remembers the conversation.
//   node agent.mjs [folder [model]]          questions on standard input, one a line; the conversation is kept in agent.json

import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { EngineError, openTextModel, shippedModelPath, tool } from 'svc-engine';

const [folder = '.', path = shippedModelPath()] = process.argv.slice(2);
const MEMORY = 'agent.json';
const MOST_CHARACTERS = 4000;

/** @param {string} name @returns {string} a path within the folder; an error is told to the model */
function within(name) {
  const file = resolve(folder, name);
  if (relative(resolve(folder), file).startsWith('..')) throw new Error(`${name} is outside of the folder`);
  return file;
}

const list_files = tool({
  description: 'Lists the files of the folder',
  schema: { type: 'object', properties: {}, additionalProperties: false },
  run: () => readdir(folder),
});

const read_file = tool({
  description: 'Reads a text file of the folder',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  timeout: 5000,
  run: async ({ name }, { signal }) =>
    (await readFile(within(name), { encoding: 'utf8', signal })).slice(0, MOST_CHARACTERS),
});

const write_file = tool({
  description: 'Writes a text file of the folder',
  schema: {
    type: 'object',
    properties: { name: { type: 'string' }, text: { type: 'string' } },
    required: ['name', 'text'],
  },
  run: async ({ name, text }) => {
    await writeFile(within(name), text);
    return 'written';
  },
});

const lines = createInterface({ input: process.stdin });
const questions = lines[Symbol.asyncIterator]();

/** @param {string} prompt @returns {Promise<string | null>} the next line; null at the end */
async function ask(prompt) {
  process.stderr.write(prompt);
  const { done, value } = await questions.next();
  return done ? null : value;
}

const model = await openTextModel({ model: path });
const chat = model.chat({
  system: 'You help with the files of a folder. Use the tools.',
  tools: { list_files, read_file, write_file },
  temperature: 0,
  maxTokens: 500,
  context: 'slide',
  confirm: async ({ name, arguments: args }) =>
    name !== 'write_file' || (await ask(`Write ${JSON.stringify(args)}? [y/n] `)) === 'y',
  ...(existsSync(MEMORY) && { restore: JSON.parse(await readFile(MEMORY, 'utf8')) }),
});

for (let question = await ask('> '); question !== null; question = await ask('> ')) {
  try {
    for await (const event of chat.send(question)) {
      if (event.type === 'delta') process.stdout.write(event.text);
      if (event.type === 'toolResult') console.log(`${event.name}: ${JSON.stringify(event.result)}`);
    }
    console.log();
    await writeFile(MEMORY, JSON.stringify(chat.save()));
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    console.error(`${error.code}: ${error.message}`); // the conversation is as it was before
  }
}
console.error(`Kept in ${join(process.cwd(), MEMORY)}`);
await model.close();
