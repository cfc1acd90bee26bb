import type { Log } from '../../../shared/runtime/log.ts';
import type { CertStore } from '../store/cert-store.ts';
import { type Account, Authority, type AuthoritySettings } from './authority.ts';
import { AccountGoneError, IssueError } from './failure.ts';

/** Our account at the authority that is asked: opened when it is first needed, kept in the store. */
export class Accounts {
  private readonly store: CertStore;
  private readonly log: Log;
  private settings: AuthoritySettings | null = null;
  private authority: Promise<Authority> | null = null;

  constructor(store: CertStore, log: Log) {
    this.store = store;
    this.log = log;
  }

  /** The authority that is to be asked from now on; null: none. */
  adopt(settings: AuthoritySettings | null): void {
    this.settings = settings;
    this.authority = null;
  }

  /** Runs `task` with our account; once more with another one where the authority does not know it any more. @throws what `task` does. */
  async use(task: (authority: Authority) => Promise<void>): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('nobody is to be asked');
    const asked = this.authority ?? this.open(settings);
    this.authority = asked;
    try {
      await task(await asked);
    } catch (error) {
      // Its root may be another one by now, and where it is asked: both are looked up with the next order.
      if (error instanceof IssueError && error.kind === 'unreachable' && this.authority === asked) this.authority = null;
      if (!(error instanceof AccountGoneError) || settings !== this.settings) throw error;
      // Of many orders that meet this together, one opens the other account.
      if (this.authority === asked) this.authority = this.openAnew(settings, error);
      await task(await (this.authority ?? asked));
    } finally {
      // An account that could not be opened is tried again with the next order.
      await this.authority?.catch(() => {
        this.authority = null;
      });
    }
  }

  private async open(settings: AuthoritySettings): Promise<Authority> {
    const saved = await this.store.account(settings.directory);
    return saved === null ? this.register(settings) : Authority.open(settings, accountOf(saved));
  }

  private async openAnew(settings: AuthoritySettings, { message }: AccountGoneError): Promise<Authority> {
    const authority = await this.register(settings);
    this.log.warn({ reason: message }, 'another account at the certificate authority was opened');
    return authority;
  }

  private async register(settings: AuthoritySettings): Promise<Authority> {
    const authority = await Authority.open(settings, null);
    await this.store.putAccount(settings.directory, JSON.stringify(authority.account));
    return authority;
  }
}

function accountOf(text: string): Account | null {
  const { key, url } = JSON.parse(text) as Partial<Account>;
  return typeof key === 'string' && typeof url === 'string' ? { key, url } : null;
}
