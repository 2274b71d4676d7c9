// The view of chat: the list of conversations, the one that is shown, its settings.

import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { models, modelsProblem, refreshModels } from '../api/models.ts';
import { connectAll } from '../mcp/tool-servers.ts';
import { ToolsDialog } from '../mcp/tools-dialog.tsx';
import { usePolling } from '../parts/polling.ts';
import { route } from '../parts/route.ts';
import { Composer, stopShown } from './composer.tsx';
import { ConversationList } from './conversation-list.tsx';
import { ModelPicker } from './model-picker.tsx';
import { announcement } from './reply.ts';
import { SettingsPanel } from './settings-panel.tsx';
import { current, load } from './state.ts';
import { takeUpAll } from './talk.ts';
import { Thread } from './thread.tsx';

/** Milliseconds between two listings of models while some of them are not open, or none could be listed. */
const LIST_TIME = 3000;

/** Lists the models when the view begins, and again while that may change what can be asked. */
function useModels(): void {
  const isListed = useRef(false);
  usePolling(async () => {
    const areOpen = models.value?.every(({ status }) => status === undefined || status.value === 'loaded');
    if (isListed.current && areOpen && modelsProblem.value === '') return;
    isListed.current = true;
    await refreshModels();
  }, LIST_TIME);
}

export function ChatView() {
  const drawer = useRef<HTMLElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const [isListOpen, setListOpen] = useState(false);
  const [areSettingsOpen, setSettingsOpen] = useState(false);
  const [areToolsOpen, setToolsOpen] = useState(false);
  const [isMissing, setMissing] = useState(false);
  const id = route.value[1];
  useModels();
  useEffect(() => {
    if (isListOpen) drawer.current?.querySelector('a')?.focus();
  }, [isListOpen]);
  useEffect(() => {
    void takeUpAll();
    void connectAll();
  }, []);
  useEffect(() => {
    setMissing(false);
    if (id) void load(id).then((found) => setMissing(found === null));
  }, [id]);
  useEffect(() => {
    const onKey = ({ key, defaultPrevented }: KeyboardEvent) => {
      if (key !== 'Escape' || defaultPrevented || document.querySelector('dialog[open]')) return;
      if (stopShown()) return;
      setListOpen(false);
      if (drawer.current?.contains(document.activeElement)) opener.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const conversation = current.value;
  return (
    <section class="chat" aria-label="Chat">
      <aside ref={drawer} class="drawer" data-open={isListOpen}>
        <ConversationList onChosen={() => setListOpen(false)} />
      </aside>
      <div class="conversation">
        <Head
          opener={opener}
          isListOpen={isListOpen}
          areSettingsOpen={areSettingsOpen}
          onList={() => setListOpen(!isListOpen)}
          onTools={() => setToolsOpen(true)}
          onSettings={() => setSettingsOpen(!areSettingsOpen)}
        />
        {conversation ? (
          <Thread conversation={conversation} />
        ) : (
          <div class="thread empty">
            <p class="muted">
              {isMissing
                ? 'This conversation is not in this browser’s storage.'
                : 'What would you like to talk about?'}
            </p>
          </div>
        )}
        <Composer />
      </div>
      {areToolsOpen && <ToolsDialog onClose={() => setToolsOpen(false)} />}
      {areSettingsOpen && <SettingsPanel onClose={() => setSettingsOpen(false)} />}
      <p class="unseen" aria-live="polite">
        {announcement.value}
      </p>
    </section>
  );
}

interface HeadProps {
  opener: RefObject<HTMLButtonElement | null>;
  isListOpen: boolean;
  areSettingsOpen: boolean;
  onList(): void;
  onTools(): void;
  onSettings(): void;
}

function Head({ opener, isListOpen, areSettingsOpen, onList, onTools, onSettings }: HeadProps) {
  return (
    <div class="head">
      <button type="button" ref={opener} class="drawer-button" aria-expanded={isListOpen} onClick={onList}>
        Conversations
      </button>
      <ModelPicker />
      <span class="space" />
      <button type="button" onClick={onTools}>
        Tools
      </button>
      <button type="button" aria-expanded={areSettingsOpen} onClick={onSettings}>
        Settings
      </button>
    </div>
  );
}
