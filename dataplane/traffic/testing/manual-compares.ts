import { Buffer } from 'node:buffer';
import type { Compare } from '../policy/basic-auth/passwords.ts';
import { eventually } from './proxy/test-proxy.ts';

type Begun = { readonly password: string; readonly hash: string; readonly settle: (fits: boolean) => void; readonly fail: () => void };

/** Test support: password comparisons that the test settles explicitly. */
export class ManualCompares {
  /** Every comparison so far, in order. */
  readonly begun: Begun[] = [];

  readonly compare: Compare = (password, hash) =>
    new Promise((resolve, reject) => {
      this.begun.push({ password: password.toString(), hash, settle: resolve, fail: () => reject(new Error('out of order')) });
    });

  /** Waits until this many comparisons have started. */
  until(count: number): Promise<void> {
    return eventually(`${count} compares`, () => this.begun.length >= count);
  }

  settle(nth: number, fits: boolean): void {
    this.begun[nth]?.settle(fits);
  }
}

/** The Authorization line of `user:password`. */
export const as = (credentials: string): string => `Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`;
