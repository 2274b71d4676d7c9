// What npm start does with the server's models: three questions in one conversation, a picture drawn where there is a model that draws, and
// its description by one that reads images.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { streamChat } from './server-child.mjs';

const QUESTIONS = [
  'Hello, my name is Ada. Who are you?',
  'What is the capital of France?',
  'What is my name?',
];
const ABOUT_PICTURE = 'What do you see in this picture?';
/** The README's first picture. */
const PICTURE = { prompt: 'a red balloon over snowy mountains at sunset', seed: 3 };

export class FirstTalk {
  /** Requests so far of the kind that a server logs. */
  posts = 0;
  #base;
  #key;
  #print;
  #folder;

  /** `print` gets texts as they come; pictures are saved in `folder`. */
  constructor(base, { key, print, folder = 'outputs' }) {
    this.#base = base;
    this.#key = key;
    this.#print = print;
    this.#folder = folder;
  }

  /** Throws where an answer is an error, or empty. */
  async run() {
    const { chats, sees, draws } = await this.#modelsServed();
    if (chats) await this.#converse();
    const picture = draws ? await this.#draw() : null;
    if (picture && sees) await this.#describe(sees, picture);
  }

  /** Whether a model that chats and one that draws are served, and the name of one that reads images. */
  async #modelsServed() {
    const { data } = await this.#call('/v1/models');
    return {
      chats: data.some((model) => !model.pipeline),
      sees: data.find((model) => model.modalities?.includes('image') && !model.pipeline)?.id,
      draws: data.some((model) => model.pipeline),
    };
  }

  /** Asks the questions in one conversation and prints the answers as they come. */
  async #converse() {
    const messages = [];
    for (const question of QUESTIONS) {
      this.#print(`\n> ${question}\n`);
      messages.push({ role: 'user', content: question });
      messages.push({ role: 'assistant', content: await this.#printAnswer({ messages }) });
    }
  }

  /** Prints the answer as it comes; returns it. */
  async #printAnswer(request) {
    this.posts++;
    const answer = await streamChat(this.#base, request, { key: this.#key, onText: this.#print });
    if (answer.trim() === '') throw new Error('The server sent an empty answer.');
    this.#print('\n');
    return answer;
  }

  /** Has one picture drawn, prints its path and returns its bytes. */
  async #draw() {
    this.#print(`\n> Draw ${PICTURE.prompt}\n`);
    const started = performance.now();
    const { data, unknown_words: unknown = [] } = await this.#call('/v1/images/generations', PICTURE);
    const picture = Buffer.from(data[0].b64_json, 'base64');
    const path = await this.#saveNew(picture);
    if (unknown.length > 0) this.#print(`(the model does not know: ${unknown.join(', ')})\n`);
    this.#print(`${path} (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
    return picture;
  }

  /** Shows the picture to a model and prints what it says. */
  async #describe(model, picture) {
    this.#print(`\n> [the picture] ${ABOUT_PICTURE}\n`);
    const url = `data:image/png;base64,${picture.toString('base64')}`;
    const content = [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: ABOUT_PICTURE },
    ];
    await this.#printAnswer({ model, messages: [{ role: 'user', content }], temperature: 0 });
  }

  /** Under the first number that is free, as `svc generate` names its pictures. */
  async #saveNew(bytes) {
    await mkdir(this.#folder, { recursive: true });
    for (let index = 0; ; index++) {
      const path = join(this.#folder, `generated_image_${index}.png`);
      try {
        await writeFile(path, bytes, { flag: 'wx' });
        return path;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
    }
  }

  /** The JSON that the server answers with. */
  async #call(path, body) {
    if (body) this.posts++;
    const reply = await fetch(this.#base + path, {
      headers: {
        'content-type': 'application/json',
        ...(this.#key && { authorization: `Bearer ${this.#key}` }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`The server answered ${reply.status}: ${await reply.text()}`);
    return reply.json();
  }
}
