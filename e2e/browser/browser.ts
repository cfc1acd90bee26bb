import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { missing } from '../components.ts';
import type { Folder } from '../harness/dataplane.ts';

const CHROMIUM = '/usr/bin/chromium';
/** It is to talk to the test and to nobody else. */
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...QUIET];

/** What a browser thinks of the connection that a page came over. */
export type Padlock = {
  /** `secure` is a padlock without a mark. */
  readonly state: string;
  readonly protocol: string;
  readonly issuer: string;
  readonly subject: string;
};

/** undefined where there is a browser and the program that tells it whom to trust. */
export const missingBrowser = (): string | undefined => missing('chromium') ?? missing('certutil');

/** A browser of the test's own, with its own list of whom to trust. Every name that it asks for is 127.0.0.1. */
export class Browser {
  readonly context: BrowserContext;
  readonly page: Page;

  private constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
  }

  /** `trusted`: roots in PEM, trusted the way a person does it on Debian. */
  static async start(folder: Folder, trusted: readonly string[]): Promise<Browser> {
    const home = folder.file('browser');
    const database = `${home}/.pki/nssdb`;
    mkdirSync(database, { recursive: true });
    const certutil = (...args: string[]): Buffer => execFileSync('certutil', ['-d', `sql:${database}`, ...args], { stdio: 'pipe' });
    certutil('-N', '--empty-password');
    for (const [at, root] of trusted.entries()) {
      const file = `${home}/root-${at}.pem`;
      writeFileSync(file, root);
      certutil('-A', '-t', 'C,,', '-n', `root-${at}`, '-i', file);
    }
    const context = await chromium.launchPersistentContext(`${home}/profile`, {
      executablePath: CHROMIUM,
      args: [...ARGUMENTS, '--host-resolver-rules=MAP * 127.0.0.1'],
      env: { ...process.env, HOME: home },
    });
    return new Browser(context, context.pages()[0] ?? (await context.newPage()));
  }

  /** What the address bar would say of the page that is shown. */
  async padlock(): Promise<Padlock> {
    const session = await this.context.newCDPSession(this.page);
    const seen = new Promise<Padlock>((resolve) => {
      session.on('Security.visibleSecurityStateChanged', ({ visibleSecurityState: { securityState, certificateSecurityState: found } }) => {
        if (found !== undefined)
          resolve({ state: securityState, protocol: found.protocol, issuer: found.issuer, subject: found.subjectName });
      });
    });
    await session.send('Security.enable');
    const padlock = await seen;
    await session.detach();
    return padlock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}

/** The protocol that the page itself came over, as scripts see it: `h2`. */
export const pageProtocol = (page: Page): Promise<string> =>
  page.evaluate<string>("performance.getEntriesByType('navigation')[0].nextHopProtocol");
