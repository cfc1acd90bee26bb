import { createPrivateKey } from 'node:crypto';
import * as z from 'zod';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { DirectoryStore } from '../../store/directory-store.ts';
import { AccountGoneError, IssueError } from '../issue-error.ts';
import { type Account, AcmeClient, type AcmeSettings } from './acme-client.ts';

/** Our account at the authority: registered on first use and kept in the store. */
export class AccountManager {
  private readonly store: DirectoryStore;
  private readonly log: Log;
  private settings: AcmeSettings | null = null;
  private client: Promise<AcmeClient> | null = null;

  constructor(store: DirectoryStore, log: Log) {
    this.store = store;
    this.log = log;
  }

  /** Uses this authority from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    this.settings = settings;
    this.client = null;
  }

  /**
   * Runs `task` with our account. If the authority no longer knows the account, registers a new one and retries once. @throws what `task`
   * throws.
   */
  async withClient(task: (client: AcmeClient) => Promise<void>): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('no certificate authority is configured');
    const used = this.client ?? this.open(settings);
    this.client = used;
    try {
      await task(await used);
    } catch (error) {
      // Its root certificate or its URLs may have changed: the next order reads both again.
      if (error instanceof IssueError && error.kind === 'unreachable' && this.client === used) this.client = null;
      if (!(error instanceof AccountGoneError) || settings !== this.settings) throw error;
      // If many orders fail like this at once, only one registers the new account.
      if (this.client === used) this.client = this.reopen(settings, error);
      await task(await (this.client ?? used));
    } finally {
      // The next order retries an account that could not be opened.
      await this.client?.catch(() => {
        this.client = null;
      });
    }
  }

  private async open(settings: AcmeSettings): Promise<AcmeClient> {
    const saved = await this.store.account(settings.directory);
    if (saved === null) return this.register(settings);
    const account = parseAccount(saved);
    // Registering a new account is cheap, and existing certificates do not depend on the old one.
    if (account === null)
      this.log.warn({ directory: settings.directory }, 'the saved account for the certificate authority is damaged: registering a new one');
    return account === null ? this.register(settings) : AcmeClient.open(settings, account);
  }

  private async reopen(settings: AcmeSettings, { message }: AccountGoneError): Promise<AcmeClient> {
    const client = await this.register(settings);
    this.log.warn({ reason: message }, 'registered a new account at the certificate authority');
    return client;
  }

  private async register(settings: AcmeSettings): Promise<AcmeClient> {
    const client = await AcmeClient.open(settings, null);
    await this.store.putAccount(settings.directory, JSON.stringify(client.account));
    return client;
  }
}

const accountSchema = z.object({ key: z.string().refine(isKey), url: z.url({ protocol: /^https$/ }) });

/** null if the text is truncated or not ours. It holds a secret, so no error quotes it. */
function parseAccount(text: string): Account | null {
  try {
    return accountSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Not JSON: as useless as JSON that is not an account.
    return null;
  }
}

function isKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    // The library's error adds nothing.
    return false;
  }
}
