// Where a message is written: text, files, the models that answer.

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { route } from '../parts/route.ts';
import { AttachmentView } from './attachment-view.tsx';
import { readAttachment } from './attachments.ts';
import { type Attachment, pathTo } from './conversation.ts';
import { runningReplies, stopReply } from './reply.ts';
import { current } from './state.ts';
import { draft, modelsOf, send, sendingProblem } from './talk.ts';
import { stopQuestions } from './tool-calls.ts';

/** Stops the replies that run in the shown conversation; returns false if none does. */
export function stopShown(): boolean {
  const conversation = current.value;
  if (!conversation) return false;
  const all = Object.values(conversation.messages);
  const running = all.filter(({ id }) => runningReplies.value.has(id));
  for (const message of running) void stopReply(message);
  const asking = all.filter(stopQuestions);
  return running.length + asking.length > 0;
}

/** The files that the next message has, and why one was refused. */
function useAttachments() {
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [problem, setProblem] = useState('');
  const add = async (files: Iterable<File>) => {
    setProblem('');
    const models = modelsOf((current.value ?? draft.value).models);
    for (const file of files) {
      try {
        const attachment = await readAttachment(file, models);
        setAttachments((others) => [...others, attachment]);
      } catch (error) {
        setProblem((error as Error).message);
      }
    }
  };
  return { attachments, setAttachments, problem, setProblem, add };
}

export function Composer() {
  const [text, setText] = useState('');
  const { attachments, setAttachments, problem, setProblem, add } = useAttachments();
  const area = useRef<HTMLTextAreaElement>(null);
  const id = route.value[1];
  // Not where the focus opens a keyboard on the screen.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) area.current?.focus();
  }, [id]);
  const conversation = current.value;
  const isRunning =
    conversation !== null &&
    pathTo(conversation, conversation.leaf).some(
      ({ id, calls = [] }) => runningReplies.value.has(id) || calls.some(({ state }) => state === 'running'),
    );

  const submit = () => {
    if (isRunning || (text.trim() === '' && attachments.length === 0)) return;
    const reason = sendingProblem();
    setProblem(reason);
    if (reason) return;
    setText('');
    setAttachments([]);
    void send(text, attachments);
  };

  return (
    <form
      autocomplete="off"
      class="composer"
      aria-label="Your next message"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add(event.dataTransfer?.files ?? []);
      }}
    >
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {attachments.length > 0 && (
        <div class="attachments">
          {attachments.map((one, at) => (
            <AttachmentView
              key={at}
              attachment={one}
              onRemove={() => setAttachments((all) => all.filter((other) => other !== one))}
            />
          ))}
        </div>
      )}
      <MessageArea
        area={area}
        text={text}
        onText={setText}
        onSubmit={submit}
        onFiles={(files) => void add(files)}
      />
      <ComposerActions
        isRunning={isRunning}
        onFiles={(files) => void add(files)}
        onStop={() => {
          stopShown();
          area.current?.focus();
        }}
      />
    </form>
  );
}

interface MessageAreaProps {
  area: RefObject<HTMLTextAreaElement | null>;
  text: string;
  onText(text: string): void;
  onSubmit(): void;
  onFiles(files: File[]): void;
}

function MessageArea({ area, text, onText, onSubmit, onFiles }: MessageAreaProps) {
  return (
    <textarea
      ref={area}
      aria-label="Message"
      placeholder="Enter sends, Shift+Enter begins a line"
      rows={Math.min(10, Math.max(2, text.split('\n').length))}
      value={text}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
      onKeyDown={(event) => {
        // While characters are composed, Enter ends the composing.
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        onSubmit();
      }}
      onPaste={(event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        if (files.length === 0) return;
        event.preventDefault();
        onFiles(files);
      }}
    />
  );
}

interface ComposerActionsProps {
  isRunning: boolean;
  onFiles(files: File[]): void;
  onStop(): void;
}

function ComposerActions({ isRunning, onFiles, onStop }: ComposerActionsProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <div class="actions">
      <button type="button" onClick={() => picker.current?.click()}>
        Add files
      </button>
      <input
        ref={picker}
        type="file"
        autocomplete="off"
        multiple
        hidden
        aria-label="Files"
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      <span class="space" />
      {isRunning ? (
        <button key="stop" type="button" class="first" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button key="send" type="submit" class="first">
          Send
        </button>
      )}
    </div>
  );
}
