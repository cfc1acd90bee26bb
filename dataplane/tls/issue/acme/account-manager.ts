import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { CertStore } from '../../store/cert-store.ts';
import { AccountGoneError, IssueError } from '../issue-error.ts';
import { type Account, AcmeClient, type AcmeSettings } from './acme-client.ts';

/** Our account at the authority that is asked: opened when it is first needed, kept in the store. */
export class AccountManager {
  private readonly store: CertStore;
  private readonly log: Log;
  private settings: AcmeSettings | null = null;
  private client: Promise<AcmeClient> | null = null;

  constructor(store: CertStore, log: Log) {
    this.store = store;
    this.log = log;
  }

  /** The authority that is to be asked from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    this.settings = settings;
    this.client = null;
  }

  /** Runs `task` with our account; once more with another one where the authority does not know it any more. @throws what `task` does. */
  async withClient(task: (client: AcmeClient) => Promise<void>): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('nobody is to be asked');
    const used = this.client ?? this.open(settings);
    this.client = used;
    try {
      await task(await used);
    } catch (error) {
      // Its root may be another one by now, and where it is asked: both are looked up with the next order.
      if (error instanceof IssueError && error.kind === 'unreachable' && this.client === used) this.client = null;
      if (!(error instanceof AccountGoneError) || settings !== this.settings) throw error;
      // Of many orders that meet this together, one opens the other account.
      if (this.client === used) this.client = this.reopen(settings, error);
      await task(await (this.client ?? used));
    } finally {
      // An account that could not be opened is tried again with the next order.
      await this.client?.catch(() => {
        this.client = null;
      });
    }
  }

  private async open(settings: AcmeSettings): Promise<AcmeClient> {
    const saved = await this.store.account(settings.directory);
    if (saved === null) return this.register(settings);
    const account = parseAccount(saved);
    // An authority gives another account for the asking; certificates that there are need none.
    if (account === null)
      this.log.warn({ directory: settings.directory }, 'the account at the certificate authority is damaged: another one is opened');
    return account === null ? this.register(settings) : AcmeClient.open(settings, account);
  }

  private async reopen(settings: AcmeSettings, { message }: AccountGoneError): Promise<AcmeClient> {
    const client = await this.register(settings);
    this.log.warn({ reason: message }, 'another account at the certificate authority was opened');
    return client;
  }

  private async register(settings: AcmeSettings): Promise<AcmeClient> {
    const client = await AcmeClient.open(settings, null);
    await this.store.putAccount(settings.directory, JSON.stringify(client.account));
    return client;
  }
}

const accountSchema = z.object({ key: z.string().refine(isKey), url: z.url({ protocol: /^https$/ }) });

/** null for a text that is torn, or none of ours. Its words are secret, so no error tells of them. */
function parseAccount(text: string): Account | null {
  try {
    return accountSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // What is no JSON is worth as much as what is no account.
    return null;
  }
}

function isKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private';
  } catch {
    // The library's own words would say no more.
    return false;
  }
}
