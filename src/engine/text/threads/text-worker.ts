// The far side of the threads for slow work on texts: runs tasks, and keeps the tokenizers and chat templates that they needed.

import { readCheckpointSpeech } from '../../../files/checkpoint/checkpoint.ts';
import type { Folder } from '../../../files/source.ts';
import { openChatTemplate, type ChatTemplate } from '../../../files/template/template.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import { stopTables } from '../../../grammar/stops/stop-table.ts';
import { classTemplate } from '../../../models/text/chat-templates.ts';
import type { Port } from '../../platform/port.ts';
import { toWire } from '../../platform/wire-error.ts';
import type { FromTaskThread, TaskAnswer, TaskReport } from '../../platform/task-thread.ts';
import { takeTurns } from './compile-turn.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import { compileSource } from './grammar-source.ts';
import type { CompileReport, TextTask, TextTaskResult } from './text-tasks.ts';

/** The parts of a checkpoint that tasks need. */
interface Speech {
  tokenizer: Tokenizer;
  template: ChatTemplate;
}

/** Answers the tasks that arrive at `port`. `measureHeap`: bytes of this thread's heap; null: they cannot be measured. */
export function serveTextTasks(
  port: Port,
  openFolder: (path: string) => Promise<Folder>,
  measureHeap: () => number | null = () => null,
): void {
  const worker = new TextWorker(openFolder);
  const answer = async (task: TextTask): Promise<void> => {
    const reply: TaskAnswer = { result: null, error: null };
    try {
      reply.result = await worker.run(task, (steps) => {
        const report: CompileReport = { steps, heap: measureHeap() };
        port.post({ report } satisfies TaskReport);
      });
    } catch (error) {
      reply.error = toWire(error);
    }
    port.post(reply);
  };
  port.onMessage((message) => void answer(message as TextTask));
  port.post('ready' satisfies FromTaskThread);
}

class TextWorker {
  readonly #openFolder: (path: string) => Promise<Folder>;
  readonly #speeches = new Map<string, Promise<Speech>>();

  constructor(openFolder: (path: string) => Promise<Folder>) {
    this.#openFolder = openFolder;
  }

  /** Runs a task. Throws EngineErrors. */
  async run(task: TextTask, report: (steps: number) => void): Promise<TextTaskResult> {
    switch (task.kind) {
      case 'stops':
        return withEngineErrors(() => stopTables(task.patterns));
      case 'compile':
        return compileSource(task.source, task.available, { onSteps: takeTurns(task.turn, report) });
      case 'render':
        return (await this.#speech(task.path)).template.render(task.rendering);
      case 'encode': {
        const { tokenizer } = await this.#speech(task.path);
        return tokenizer.encode(task.text, { addSpecialTokens: task.addSpecialTokens });
      }
    }
  }

  #speech(path: string): Promise<Speech> {
    const found = this.#speeches.get(path) ?? this.#open(path);
    this.#speeches.set(path, found);
    // A file that could not be read may be readable at the next task.
    found.catch(() => this.#speeches.delete(path));
    return found;
  }

  async #open(path: string): Promise<Speech> {
    const { tokenizer, chatTemplate } = await readCheckpointSpeech(
      await this.#openFolder(path),
      classTemplate,
    );
    return { tokenizer, template: openChatTemplate(chatTemplate, tokenizer.specials, tokenizer.chat) };
  }
}
