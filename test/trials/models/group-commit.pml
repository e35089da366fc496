/* Group commit on one data folder (sequencer.ts, journal.ts, head-mark.ts, data-folder.ts), crashed
 * by a kill or a power cut after any step, also while it starts.
 *
 * Bounds: 5 commands, 4 crashes, a batch of any size, 2 unsynced marks at most. A power cut leaves
 * what was not synced or not, each page of the mark by itself, and tears one page at most. A kill
 * leaves what was written. A sync that fails leaves what it did not write to be written later.
 * Each command differs, so journal[s] == s says that the journal has the right one.
 */
#define COMMANDS 5
#define CRASHES 4
#define UNSYNCED_MAX 2
#define TORN 255

byte journal[COMMANDS + 1];     /* as the operating system has it */
byte written, synced;           /* its end there, and on the disk */
byte page[2], disk[2];          /* the slots of the mark, there and on the disk */
byte next, unsynced;
byte executed, durable, inFlight, marked, released;
byte phase;                     /* of a commit: 0 none, 1 written, 2 synced, 3 marked */
byte crashes, answered;         /* the last sequence that was answered */
byte commits, commitOf[COMMANDS + 1], answeredCommit;   /* to count how far the mark is behind */
bool isKill = true, isFailed;

#define STEP if :: crashes < CRASHES -> goto crash :: true fi
#define MAX(a, b) (a > b -> a : b)
#ifdef ONE_SLOT
#define SWITCH skip
#else
#define SWITCH next = 1 - next
#endif

inline keep(slot, torn) {
  if
  :: page[slot] != disk[slot] -> disk[slot] = page[slot]
  :: skip
  :: page[slot] != disk[slot] && !torn -> disk[slot] = TORN; torn = true
  fi;
  page[slot] = disk[slot]
}

active proctype Exchange() {
  bool torn; byte i, mark, first;
start:
  STEP;
#ifndef NO_SYNC_AT_START        /* data-folder.ts: lock() syncs -wal before the judgement */
  synced = written;
#endif
  atomic {
    assert(answered <= written);                  /* nothing answered is lost */
    for (i : 1 .. written) { assert(journal[i] == i) };
    mark = 0;
    if :: page[0] != TORN -> mark = page[0] :: else fi;
    if :: page[1] != TORN -> mark = MAX(mark, page[1]) :: else fi;
#ifdef ONE_SLOT
    assert(page[0] != TORN);
#endif
    assert(page[0] != TORN || page[1] != TORN);   /* the mark can be read, */
    assert(mark <= written);                      /* is no reason to refuse the start, */
    assert(!isKill || mark >= answered);          /* and shows what a copy lacks */
    assert(answeredCommit <= commitOf[mark] + UNSYNCED_MAX + 1);
    if :: commitOf[written] == 0 -> commitOf[written] = commits :: else fi
  };
#ifndef NO_MARK_SYNC_AT_START   /* head-mark.ts: what a killed process wrote is synced first */
  atomic { disk[0] = page[0]; disk[1] = page[1] };
#endif
  STEP;
#ifdef ANY_SLOT_FIRST           /* head-mark.ts: the slot that is not the mark is written first */
  first = 0;
#else
  first = (page[0] == mark -> 1 : 0);
#endif
  STEP; page[first] = written; STEP; disk[first] = written;
  STEP; page[1 - first] = written; STEP; disk[1 - first] = written;
  atomic { executed = written; durable = written; released = written; inFlight = 0; phase = 0; marked = 0;
           next = 0; unsynced = 0; isFailed = false; isKill = true };
end_run:
  do
  :: executed < COMMANDS -> executed++            /* it is in the open batch */
  :: phase == 0 && inFlight == 0 && executed > durable -> inFlight = executed
  :: phase == 0 && inFlight > 0 && unsynced >= UNSYNCED_MAX ->
#ifndef NO_MARK_SYNC            /* journal.ts: append() waits for mustSync */
     atomic { disk[0] = page[0]; disk[1] = page[1] };
#endif
     unsynced = 0
  :: phase == 0 && inFlight > 0 && unsynced < UNSYNCED_MAX ->
     atomic { for (i : durable + 1 .. inFlight) { journal[i] = i }; written = inFlight; phase = 1 }
  :: phase == 1 ->
     if
     :: true ->
#ifndef NO_SYNC                 /* open-segment.ts: synchronous = FULL */
        synced = written;
#endif
        phase = 2
     :: true ->                 /* the sync has failed */
#ifdef GO_ON                    /* sequencer.ts: fail() */
        phase = 2
#else
        goto kill
#endif
     fi
#ifdef MARK_EARLY               /* journal.ts: committed() writes the mark, after the commit */
  :: phase == 1 && marked < inFlight -> page[next] = inFlight; marked = inFlight; SWITCH; unsynced++
#endif
  :: phase == 2 -> atomic {
       if :: marked < inFlight -> page[next] = inFlight; marked = inFlight; SWITCH; unsynced++ :: else fi;
       commits++; commitOf[inFlight] = commits; phase = 3 }
  :: phase == 3 -> atomic { durable = inFlight; inFlight = 0; phase = 0 }
#ifdef RELEASE_EARLY            /* sequencer.ts: releaseAt() waits for the commit */
  :: released < executed
#else
#ifdef RELEASE_BEFORE_MARK      /* journal.ts: done() after committed() */
  :: released < (phase == 2 -> inFlight : durable)
#else
  :: released < durable
#endif
#endif
     -> atomic { released++; answered = MAX(answered, released); answeredCommit = commits }
  :: crashes < CRASHES -> goto crash
  od;
crash:
  crashes++;
  if
  :: goto kill
  :: isKill = false; torn = false;                /* the power is cut */
     if :: written = synced :: synced = written fi;
     keep(0, torn); keep(1, torn)
  fi;
kill:
  atomic { executed = 0; durable = 0; released = 0; inFlight = 0; phase = 0; unsynced = 0; i = 0; mark = 0; first = 0 };
  goto start
}
